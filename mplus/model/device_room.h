// What a device needs beside weights.
#pragma once

#include <cstddef>

#include "mplus/kernels/backend.h"
#include "mplus/model/weights.h"

namespace mplus::model {

// An estimate, in bytes. Passes cannot do without theirs. Copies of a full memory's rows (its slots and its
// retriever keys) only save bringing them there again.
struct DeviceRoom {
  std::size_t passes = 0, copies = 0;
};
// For one session.
DeviceRoom device_room(const Weights& weights, const kernels::Backend& backend, kernels::Numerics numerics);

}  // namespace mplus::model
