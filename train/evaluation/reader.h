// Reads of many questions at once: what stands in front of each is projected once, then windows are read over
// it again and again while an answer grows. Without gradients.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "mplus/train/model/decoder_layer.h"
#include "mplus/train/model/model.h"
#include "mplus/train/model/read_pass.h"
#include "mplus/train/model/stream_memory.h"

namespace mplus::train {

// Rows in front of Q windows in every layer.
using Fronts = std::vector<KeyValue>;  // [L] of [Q, rows, G, e]

// Windows of different lengths, padded behind: what comes later is not seen.
struct Windows {
  Tensor tokens;   // [Q, T], int64
  Tensor lengths;  // [Q]
};
Windows pad(const std::vector<std::vector<std::int32_t>>& windows, std::int64_t more, torch::Device device);

// Rows of layer l's store for each question, [Q, k], in any order; `normed`: the layer's input [Q, T, d].
using ChooseRows = std::function<Tensor(std::int64_t l, const Tensor& normed)>;

struct RecallFronts {
  Fronts fronts;
  std::vector<Tensor> recalled_births;  // [L] of [Q, k], rising; none where nothing was recalled
};

class Reader {
 public:
  explicit Reader(const Model& model) : model_(model), weights_(merge(model, Adapter::read)) {}

  // The short-term rows of all streams, for the fronts below; once after each write.
  ProjectedSlots slots(const StreamMemory& memory) const { return project_slots(model_, weights_, memory); }

  Fronts plain_fronts(std::int64_t questions) const;  // bos alone
  // bos and short-term rows of each question's stream.
  Fronts memory_fronts(const ProjectedSlots& slots, const Tensor& streams) const;
  // bos, chosen long-term rows, short-term rows. Rows that were chosen before need no windows; otherwise
  // these are read layer by layer, each over what the lower ones chose.
  RecallFronts recall_fronts(const StreamMemory& memory, const ProjectedSlots& slots, const Tensor& streams,
                             const ChooseRows& choose, const Windows* windows) const;

  // [Q, T, d], before the final norm. `normed`: gets each layer's normed input, if wanted.
  Tensor read(const Fronts& fronts, const Tensor& tokens, std::vector<Tensor>* normed = nullptr) const;
  // The likeliest next token after each window's first lengths[q] tokens: [Q].
  Tensor next_tokens(const Fronts& fronts, const Tensor& tokens, const Tensor& lengths) const;
  // Mean NLL of each window's tokens from[q] … its end.
  std::vector<double> nll(const Fronts& fronts, const std::vector<std::vector<std::int32_t>>& windows,
                          const std::vector<std::size_t>& from) const;

 private:
  KeyValue bos(std::int64_t l, std::int64_t questions) const;
  Tensor logits(const Tensor& hidden) const;  // [n, d] → [n, V], in float32: bfloat16 would make ties
  Tensor layer(std::int64_t l, const Tensor& x, const KeyValue& front) const;

  const Model& model_;
  PassWeights weights_;
};

}  // namespace mplus::train
