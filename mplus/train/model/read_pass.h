// The read pass: a window of every stream through the decoder over [bos ; recalled ; short-term ; window]
// (docs/algorithm.md, "Read").
#pragma once

#include <vector>

#include "mplus/train/model/layers/decoder_layer.h"
#include "mplus/train/model/recall.h"
#include "mplus/train/model/stream_memory.h"

namespace mplus::train {

// Keys and values of the short-term rows of each layer that keeps a memory, before rotation: projected once
// for all reads of a step.
using ProjectedSlots = std::vector<KeyValue>;  // [M] of [B, n, G, e]
ProjectedSlots project_slots(const Model& model, const PassWeights& weights, const StreamMemory& memory);

struct ReadRequest {
  Tensor tokens = {};                     // [B, T], int64
  const StreamMemory* memory = nullptr;   // null: only bos stands in front of the window
  const ProjectedSlots* slots = nullptr;  // of `memory` under the same weights; null: projected by the pass
  Recall recall = {};                     // empty: nothing is recalled
  // Short-term memory is seen only as far as it is chosen: `recall` chooses among the rows of the store and,
  // numbered behind them, the slots. Long-term rows stand first, then slots, both by birth.
  bool over_recalled = false;
  bool keep_normed = false;  // for retriever losses
};
struct ReadResult {
  Tensor hidden;                        // [B, T, d], before the final norm
  std::vector<Tensor> normed;           // [M] of [B, T, d], each layer's normed input, detached; if kept
  std::vector<Tensor> recalled_births;  // [M] of [B, k], as they stand; if something was recalled
};
ReadResult read_pass(const Model& model, const PassWeights& weights, const ReadRequest& request);

Tensor logits(const Model& model, const Tensor& hidden);  // [B, T, d] → [B, T, V]

}  // namespace mplus::train
