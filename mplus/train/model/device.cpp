#include "mplus/train/model/device.h"

#include "mplus/core/error.h"
#include "mplus/train/gpu/gpu.h"

namespace mplus::train {

torch::Device device_named(const std::string& name, std::int64_t number) {
  const bool cuda = torch::globalContext().hasCUDA();
  if (name == "cuda" && !cuda) fail(ErrorCode::unsupported, "no GPU that torch can use was found");
  if (name == "cpu" || !cuda) return torch::kCPU;
  const torch::Device device(torch::kCUDA, static_cast<c10::DeviceIndex>(number));
  gpu::use(device);
  return device;
}

std::string device_name(torch::Device device) { return device.is_cuda() ? gpu::product(device) : "CPU"; }

double device_gigabytes(torch::Device device) { return device.is_cuda() ? gpu::peak_gigabytes(device) : 0; }

}  // namespace mplus::train
