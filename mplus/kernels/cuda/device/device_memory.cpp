#include "mplus/kernels/cuda/device/device_memory.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "mplus/core/error.h"
#include "mplus/core/tensors/memory_budget.h"
#include "mplus/kernels/cuda/device/check.h"
#include "mplus/kernels/cuda/device/launch.h"

namespace mplus::kernels::cuda {
namespace {

// Errors of giving back are not told: the process may be ending, and the device be gone before its buffers.
void release_device(void* data, std::size_t size_bytes) {
  device_budget().give_back(size_bytes);
  cudaPointerAttributes attributes{};
  if (cudaPointerGetAttributes(&attributes, data) == cudaSuccess)
    cudaFreeAsync(data, device_memory(attributes.device).stream());
  cudaGetLastError();
}

void release_host(void* data, std::size_t) {
  cudaFreeHost(data);
  cudaGetLastError();
}

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, device), "asking for the device's properties");
  return value;
}

}  // namespace

int device_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  cudaGetLastError();
  return 0;
}

DeviceMemory::DeviceMemory(int index) : index_(index) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || index >= count) {
    cudaGetLastError();
    fail(ErrorCode::unsupported, "device cuda:{}: {}; use the device cpu", index,
         status == cudaErrorInsufficientDriver ? "the driver is missing, or older than this program needs"
         : status != cudaSuccess               ? cudaGetErrorString(status)
         : count == 0                          ? "this machine has no CUDA device"
                                               : "there is no such device");
  }
  use();
  architecture_ = 10 * attribute(cudaDevAttrComputeCapabilityMajor, index) +
                  attribute(cudaDevAttrComputeCapabilityMinor, index);
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index), "asking for the device's properties");
  name_ = properties.name;
  if (!kernels_fit()) {
    cudaGetLastError();
    fail(ErrorCode::unsupported, "device cuda:{} ({}, sm_{}): this program's kernels were not built for it",
         index, name_, architecture_);
  }
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
  check(cudaDeviceGetDefaultMemPool(&pool_, index), "asking for its memory");
  // What was given back stays with the process, to be given out again: within the limit, if there is one.
  std::uint64_t keep = device_budget().limit() > 0 ? device_budget().limit() : UINT64_MAX;
  check(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep), "setting up its memory");
}

void DeviceMemory::use() const { check(cudaSetDevice(index_), "choosing the device"); }

Buffer DeviceMemory::allocate(std::size_t size_bytes) const {
  device_budget().require(size_bytes);
  use();
  const std::size_t wanted = std::max<std::size_t>(size_bytes, 1);
  void* data = nullptr;
  cudaError_t status = cudaMallocAsync(&data, wanted, stream_);
  if (status == cudaErrorMemoryAllocation) {  // what is being given back may be enough
    cudaGetLastError();
    check(cudaStreamSynchronize(stream_), "waiting for memory");
    check(cudaMemPoolTrimTo(pool_, 0), "giving memory back");
    status = cudaMallocAsync(&data, wanted, stream_);
  }
  if (status == cudaErrorMemoryAllocation) out_of_memory("device memory", size_bytes, index_);
  check(status, "asking for memory");
  device_budget().take(size_bytes);
  return {data, size_bytes, Device{DeviceKind::cuda, static_cast<std::int8_t>(index_)}, release_device};
}

Buffer DeviceMemory::allocate_host(std::size_t size_bytes) const {
  use();
  void* data = nullptr;
  const cudaError_t status = cudaMallocHost(&data, std::max<std::size_t>(size_bytes, 1));
  if (status == cudaErrorMemoryAllocation) out_of_memory("pinned host memory", size_bytes, index_);
  check(status, "asking for pinned host memory");
  return {data, size_bytes, Device(), release_host};
}

std::size_t DeviceMemory::free_bytes() const {
  use();
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "asking for its free memory");
  std::uint64_t reserved = 0, used = 0;
  check(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &reserved),
        "asking for its memory");
  check(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrUsedMemCurrent, &used), "asking for its memory");
  return std::min(free + static_cast<std::size_t>(reserved - used), device_budget().left());
}

MemoryUse DeviceMemory::memory_use() const {
  use();
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "asking for its free memory");
  std::uint64_t used = 0, most = 0, reserved = 0;
  check(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrUsedMemCurrent, &used), "asking for its memory");
  check(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrUsedMemHigh, &most), "asking for its memory");
  check(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &reserved),
        "asking for its memory");
  return {static_cast<std::size_t>(used), static_cast<std::size_t>(most), static_cast<std::size_t>(reserved),
          total - free};
}

const DeviceMemory& device_memory(int index) {
  static std::mutex mutex;
  // Never given back: buffers outlive it otherwise.
  static auto& devices = *new std::map<int, std::unique_ptr<DeviceMemory>>;
  const std::lock_guard lock(mutex);
  std::unique_ptr<DeviceMemory>& device = devices[index];
  if (!device) device = std::make_unique<DeviceMemory>(index);
  return *device;
}

}  // namespace mplus::kernels::cuda
