#include "mplus/kernels/rows/transfer.h"

#include <algorithm>

#include "mplus/kernels/backend.h"
#include "mplus/kernels/check.h"
#include "mplus/kernels/rows/rows.h"

namespace mplus::kernels {

OnDevice::OnDevice(Queue& queue, ConstTensor host) : tensor_(host) {
  if (host.device == queue.device()) return;
  buffer_ = queue.backend().allocate(std::max<std::size_t>(1, row_bytes(host.dtype, host.elements())));
  Tensor there = buffer_.tensor(host.dtype, {host.elements()});
  there.dimensions = host.dimensions;
  there.shape = host.shape;
  there.strides = host.strides;
  copy(queue, there, host);
  tensor_ = there;
}

std::vector<float> to_host(Queue& queue, ConstTensor x) {
  check_floats(queue, {x});
  std::vector<float> values(static_cast<std::size_t>(x.elements()));
  const std::int64_t n = x.elements();
  copy(queue, Tensor(values.data(), DType::f32, {n}), x.as_shape({n}));
  queue.wait();
  return values;
}

}  // namespace mplus::kernels
