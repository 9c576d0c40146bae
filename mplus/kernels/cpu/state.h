// What a queue of the processor keeps between operations.
#pragma once

#include <cstdint>
#include <vector>

#include "mplus/core/numbers/choose.h"
#include "mplus/core/tensors/buffer.h"
#include "mplus/kernels/backend.h"

namespace mplus::kernels::cpu {

// Rows that an operation left as products read them (ResultUse::products) in place of the tensor at `x`; the
// next product that is asked for rows of it takes them.
struct RoundedRows {
  AlignedVector<std::byte> bytes;
  const float* x = nullptr;  // null: none
  std::int64_t T = 0, columns = 0;
};

struct State final : QueueState {
  std::int32_t note = -1;
  RoundedRows rounded;
  std::vector<ChoiceRoom> choice_rooms;  // one for a row
};

}  // namespace mplus::kernels::cpu
