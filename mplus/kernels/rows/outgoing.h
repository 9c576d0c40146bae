// What a pass makes on the device for others to read on the host: pieces are asked for one after the other,
// filled by operations, and brought over. On the processor both sides are the same memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

#include "mplus/core/tensors/device_buffer.h"
#include "mplus/core/tensors/tensor.h"
#include "mplus/kernels/queue.h"

namespace mplus::kernels {

// Host memory that the device reaches fast. It is expensive to make: what nobody holds any more is given out
// again.
class HostPool {
 public:
  std::shared_ptr<Buffer> take(Queue& queue, std::size_t size_bytes);

 private:
  std::vector<std::shared_ptr<Buffer>> buffers_;
};

class Outgoing {
 public:
  static std::size_t piece_bytes(DType dtype, std::int64_t elements);

  // Makes room for pieces of so many bytes together; those before are gone.
  void begin(Queue& queue, HostPool& pool, std::size_t size_bytes);
  Tensor piece(DType dtype, std::initializer_list<std::int64_t> shape);  // on the device, contents undefined
  // The pieces since the last call, which must have been filled; they are there after Queue::wait().
  void bring(Queue& queue);
  // The same while the device goes on computing: who gives this back must have waited.
  void bring_aside(Queue& queue);
  ConstTensor on_host(const ConstTensor& piece) const;
  bool is_copied() const { return device_ != nullptr; }              // the two sides differ
  std::shared_ptr<const void> host_memory() const { return host_; }  // keeps the pieces on the host
  // The same on the device; null on the processor.
  std::shared_ptr<const void> device_memory() const { return device_; }

 private:
  struct Both {
    Tensor host, device;
  };
  Both not_brought();  // bytes; from now on they are

  std::shared_ptr<Buffer> host_;
  std::shared_ptr<Buffer> device_;  // null on the processor
  std::size_t size_bytes_ = 0;
  std::size_t used_bytes_ = 0;
  std::size_t brought_bytes_ = 0;
};

}  // namespace mplus::kernels
