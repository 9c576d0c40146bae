// Memories of a plan that are written side by side, update by update.
#pragma once

#include <cstdint>
#include <span>

#include "mplus/train/evaluation/plan.h"
#include "mplus/train/model/model.h"
#include "mplus/train/model/stream_memory.h"

namespace mplus::train {

class PlannedStreams {
 public:
  // Model and plan must outlive it. small_keys: the retriever's keys of long-term rows are kept in int8, too.
  PlannedStreams(const Model& model, std::span<const PlannedMemory> memories, bool small_keys);

  // Update u of every stream. One that has ended writes its last chunk again: nobody asks it any more, and
  // all streams keep as many rows.
  void write(std::int64_t u);
  const StreamMemory& memory() const { return memory_; }

 private:
  const Ids& chunk(std::int64_t stream, std::int64_t u) const;
  // What the engine drops, slot for slot: [M, S, drops].
  Tensor drops(std::int64_t u, std::int64_t written) const;

  const Model& model_;
  std::span<const PlannedMemory> memories_;
  PassWeights writing_;
  StreamMemory memory_;
};

}  // namespace mplus::train
