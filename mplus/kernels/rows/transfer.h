// Values to a queue's device and back, for what is not in a hurry. On the processor nothing is copied there.
#pragma once

#include <vector>

#include "mplus/core/tensors/device_buffer.h"
#include "mplus/core/tensors/tensor.h"
#include "mplus/kernels/queue.h"

namespace mplus::kernels {

// A host tensor on the queue's device; the source must stay only on the processor, where this is a view.
class OnDevice {
 public:
  OnDevice(Queue& queue, ConstTensor host);
  const ConstTensor& tensor() const { return tensor_; }

 private:
  Buffer buffer_;
  ConstTensor tensor_;
};

std::vector<float> to_host(Queue& queue, ConstTensor x);  // f32 without gaps; waits

}  // namespace mplus::kernels
