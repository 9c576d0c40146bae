#include "mplus/train/model/device.h"

#include "mplus/core/error.h"

#ifdef MPLUS_TRAIN_CUDA
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#endif

namespace mplus::train {

torch::Device device_named(const std::string& name, std::int64_t number) {
  const bool cuda = torch::globalContext().hasCUDA();
  if (name == "cuda" && !cuda) fail(ErrorCode::unsupported, "no GPU that torch can use was found");
  if (name == "cpu" || !cuda) return torch::kCPU;
  const torch::Device device(torch::kCUDA, static_cast<c10::DeviceIndex>(number));
#ifdef MPLUS_TRAIN_CUDA
  c10::cuda::set_device(device.index());
#endif
  return device;
}

std::string device_name(torch::Device device) {
#ifdef MPLUS_TRAIN_CUDA
  if (device.is_cuda()) return at::cuda::getDeviceProperties(device.index())->name;
#endif
  return device.is_cuda() ? "GPU" : "CPU";
}

double device_gigabytes([[maybe_unused]] torch::Device device) {
#ifdef MPLUS_TRAIN_CUDA
  if (device.is_cuda()) {
    const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(device.index());
    return static_cast<double>(stats.reserved_bytes[0].peak) / 1e9;
  }
#endif
  return 0;
}

}  // namespace mplus::train
