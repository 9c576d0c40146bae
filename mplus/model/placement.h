// Where weights lie while passes compute with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "mplus/core/tensors/device.h"
#include "mplus/kernels/queue.h"
#include "mplus/model/weights.h"

namespace mplus::model {

// What the large matrices of products become on another device: values in a type that it computes with, or
// one byte each, a whole number or a small float (core/numbers/float8.h), with a scale for every output. The
// processor takes them as the files have them.
enum class WeightForm : std::uint8_t { values, int8, fp8 };

// On the processor the weights as they are, or, where products read them faster in another order
// (Backend::arrange), a copy of the layers' matrices and the head. On another device a copy there: every
// matrix in a type the device computes with (quantised ones as the values they stand for), vectors in f32;
// matrices that meet the same rows (q, k, v; gate, up; their adapters' inner halves) one behind the other.
// What only the host looks at, the memory of a checkpoint and the votes' weights, stays there, and so does
// the embedding where the device would be short of room for a session (device_room). Throws out_of_capacity
// where they do not fit. What passes need beside them is kept free of spare copies (MemoryBudget::keep).
std::shared_ptr<const Weights> place_weights(std::shared_ptr<const Weights> host, kernels::Queue& queue,
                                             WeightForm form = WeightForm::values);

std::size_t placed_bytes(const Weights& host, kernels::Numerics numerics, const Device& device,
                         WeightForm form = WeightForm::values);

// The device that is meant: of an automatic choice the first that the weights and what one session's passes
// need fit on; else the processor.
Device choose_device(const DeviceChoice& choice, const Weights& host, kernels::Numerics numerics,
                     WeightForm form = WeightForm::values);

}  // namespace mplus::model
