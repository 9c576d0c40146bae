// Memories of a model: the sizes it asks for, an empty one, and the one its checkpoint brought.
#pragma once

#include <cstdint>

#include "mplus/memory/memory.h"
#include "mplus/model/passes/workspace.h"

namespace mplus::model {

struct MemoryOptions {
  DType dtype = DType::bf16;
  RowFormat long_term = RowFormat::plain;  // of new memories' rows, once they are dropped
  bool keep_hidden = false;
  std::int64_t long_term_capacity = 0;  // 0: as the model says
};

memory::Layout memory_layout(const Weights& weights, const MemoryOptions& options = {});

// As the checkpoint brought it, projected to keys and values: slot j counts as born at j − N, a long-term row
// at −1 − age. Without one: empty.
memory::Memory initial_memory(Workspace& w, const memory::Layout& layout, std::uint64_t seed);

}  // namespace mplus::model
