// One device of this process: its stream, and memory given out and taken back in the stream's order. All
// queues of a device share the stream, so memory may be given back while work on it is still to be done.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

#include "mplus/core/tensors/device_buffer.h"
#include "mplus/kernels/backend.h"

namespace mplus::kernels::cuda {

class DeviceMemory {
 public:
  // Throws unsupported where there is no such device, or none that this program's kernels run on.
  explicit DeviceMemory(int index);
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  void use() const;  // by the calling thread
  cudaStream_t stream() const { return stream_; }
  int index() const { return index_; }
  int architecture() const { return architecture_; }  // 90
  const std::string& name() const { return name_; }   // "NVIDIA H200"

  Buffer allocate(std::size_t size_bytes) const;
  Buffer allocate_host(std::size_t size_bytes) const;  // pinned
  std::size_t free_bytes() const;
  MemoryUse memory_use() const;

 private:
  int index_ = 0;
  int architecture_ = 0;
  std::string name_;
  cudaStream_t stream_ = nullptr;  // lives as long as the program
  cudaMemPool_t pool_ = nullptr;
};

int device_count();  // 0 where there is no driver
// Made once for each device, and kept.
const DeviceMemory& device_memory(int index);

}  // namespace mplus::kernels::cuda
