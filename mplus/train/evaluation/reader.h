// Reads of many questions at once: what stands in front of each is projected once, windows are read over it,
// and answers grow token by token. Questions may have different numbers of rows in front and windows of
// different lengths; padding is never seen. Without gradients.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "mplus/core/numbers/row_format.h"
#include "mplus/train/model/layers/decoder_layer.h"
#include "mplus/train/model/model.h"
#include "mplus/train/model/read_pass.h"
#include "mplus/train/model/stream_memory.h"

namespace mplus::train {

// Rows in front of Q windows in a layer. The last count[q] of question q are real, padding stands before
// them: so all windows begin at the same position, and positions matter only relative to each other.
struct FrontRows {
  KeyValue rows;      // before rotation, [Q, rows, G, e]
  Tensor count = {};  // [Q]; undefined: all of them
};
using Fronts = std::vector<FrontRows>;  // [L]

Fronts select(const Fronts& fronts, const Tensor& which);  // the fronts of these questions
Fronts joined(std::vector<Fronts> parts);                  // those of several lists of questions

// Windows of different lengths, padded behind: what comes later is not seen.
struct Windows {
  Tensor tokens;   // [Q, T], int64
  Tensor lengths;  // [Q]
};
Windows pad(const std::vector<std::vector<std::int32_t>>& windows, torch::Device device);

// Rows of the store of a layer that keeps a memory for each question, in any order: the first count[q] of
// rows[q].
struct ChosenRows {
  Tensor rows;        // [Q, k]
  Tensor count = {};  // [Q]; undefined: k
};
using ChooseRows =
    std::function<ChosenRows(std::int64_t place, const Tensor& normed)>;  // normed: its input [Q, T, d]

struct RecallFronts {
  Fronts fronts;
  // [M] of [Q, k], rising, −1 in place of rows that were not chosen; none where nothing is stored.
  std::vector<Tensor> recalled_births;
};

class Reader {
 public:
  explicit Reader(const Model& model)
      : model_(model),
        weights_(merge(model, Adapter::read)),
        head_(model.base.head.detach().to(torch::kFloat32)) {}

  const Model& model() const { return model_; }
  // The same reader for long-term rows that are kept so; weights are shared.
  Reader with_rows(RowFormat rows) const;

  // The short-term rows of all streams, for the fronts below; once after each write.
  ProjectedSlots slots(const StreamMemory& memory) const { return project_slots(model_, weights_, memory); }

  Fronts plain_fronts(std::int64_t questions) const;  // bos alone
  // bos and short-term rows of each question's stream.
  Fronts memory_fronts(const ProjectedSlots& slots, const Tensor& streams) const;
  // bos, chosen long-term rows, short-term rows. Rows that were chosen before need no windows; otherwise
  // these are read layer by layer, each over what the lower ones chose.
  RecallFronts recall_fronts(const StreamMemory& memory, const ProjectedSlots& slots, const Tensor& streams,
                             const ChooseRows& choose, const Windows* windows) const;
  // bos, chosen long-term rows, chosen short-term rows (ChunkSearch::From::everything): nothing else.
  RecallFronts chosen_fronts(const StreamMemory& memory, const Tensor& streams,
                             const std::vector<ChosenRows>& chosen) const;

  // [Q, T, d], before the final norm. `normed`: gets the normed input of each layer that keeps a
  // memory, if wanted.
  Tensor read(const Fronts& fronts, const Tensor& tokens, std::vector<Tensor>* normed = nullptr) const;
  // Tokens one after another, up to `most` each: the likeliest, or drawn at a temperature from the device's
  // default generator. `next` is told the newest of all questions and says whether to go on; `first` may
  // change the scores [Q, V] of the first tokens.
  void generate(const Fronts& fronts, const Windows& windows, std::int64_t most,
                const std::function<bool(const std::vector<std::int64_t>&)>& next,
                const std::function<Tensor(const Tensor&)>& first = {}, double temperature = 0) const;
  // The likeliest token after each of these places [n] of the windows' tokens, which are seen as one row.
  Tensor likeliest(const Fronts& fronts, const Tensor& tokens, const Tensor& places) const;
  // Mean NLL of each window's tokens from[q] … its end.
  std::vector<double> nll(const Fronts& fronts, const std::vector<std::vector<std::int32_t>>& windows,
                          const std::vector<std::size_t>& from) const;

 private:
  // All that a layer's rows may attend to: rotated keys, and values.
  struct Seen {
    Tensor k, v;         // [Q, front + room, G, e]
    std::int64_t front;  // rows in front of the windows
    Tensor padding;      // [Q]: rows before the real ones; undefined: none
  };

  KeyValue bos(std::int64_t l, std::int64_t questions) const;
  // [bos ; rows ; behind], padded in front where count says that not all of the rows [Q, k, d] are there.
  FrontRows front(std::int64_t l, const Tensor& rows, const Tensor& count, const KeyValue* behind) const;
  RecallFronts kept(RecallFronts read) const;  // rows of the store as they are kept
  Tensor logits(const Tensor& hidden) const;   // [n, d] → [n, V], in float32: bfloat16 would make ties
  Tensor embed(const Tensor& tokens) const;
  Seen see(const FrontRows& front, std::int64_t room) const;
  // Rows x [Q, T, d] of the windows from their beginning on; or one row each, at places [Q] of the windows.
  Tensor layer(std::int64_t l, const Tensor& x, const Seen& seen, const Tensor& places = {}) const;

  const Model& model_;
  PassWeights weights_;
  Tensor head_;  // [V, d], float32
  RowFormat rows_ = RowFormat::plain;
};

}  // namespace mplus::train
