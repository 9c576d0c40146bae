// Host numbers to the device.
#pragma once

#include <vector>

#include "mplus/train/torch.h"

namespace mplus::train {

// A copy of the values on the device; the call does not wait for it (torch keeps the pinned pages until
// then).
template <class T>
Tensor upload(const std::vector<T>& values, at::IntArrayRef shape, torch::Dtype type, torch::Device device) {
  // from_blob takes writable memory only; it is read once.
  const Tensor host =
      torch::from_blob(const_cast<T*>(values.data()), {static_cast<std::int64_t>(values.size())}, type);
  if (!device.is_cuda()) return host.clone().view(shape);
  return host.pin_memory().to(device, /*non_blocking=*/true).view(shape);
}

}  // namespace mplus::train
