// Stands in for CUDA in a build without it.
#include "mplus/kernels/backend.h"

#include "mplus/core/error.h"

namespace mplus::kernels {

int cuda_devices() { return 0; }

const Backend& cuda_backend(const Device& device) {
  fail(ErrorCode::unsupported, "device {}: this program was built without CUDA; use the device cpu",
       device_name(device));
}

}  // namespace mplus::kernels
