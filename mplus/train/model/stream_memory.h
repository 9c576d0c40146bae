// The memories of B streams that are trained side by side, as hidden states: short-term slots that may carry
// gradients back to the writes, and long-term stores that do not. All streams are written at the same time,
// so every layer of every stream holds the same number of rows; what was dropped differs. Layers are those
// that keep a memory, by place (model.h).
//
// Slots are never overwritten: an update makes new tensors, so that autograd sees the whole history of a step
// and an earlier read's graph stays valid. Only the newest version stays in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "mplus/train/model/files/load.h"
#include "mplus/train/model/model.h"

namespace mplus::train {

// Rows that grow at the end without copying all of them each time.
class GrowingRows {
 public:
  std::int64_t rows() const { return rows_; }
  Tensor view() const { return storage_.narrow(1, 0, rows_); }  // [B, rows, …]
  void append(const Tensor& rows,
              std::int64_t most);    // makes room for no more than `most` rows ahead of need
  void keep(const Tensor& indices);  // [B, n]: only these rows stay, in this order

 private:
  Tensor storage_;  // [B, capacity, …]
  std::int64_t rows_ = 0;
};

class StreamMemory {
 public:
  struct LongTerm {
    GrowingRows hidden;  // [B, m, d]
    GrowingRows key;     // [B, m, d_r]
    GrowingRows birth;   // [B, m], int64
    // The same keys in int8 (small_rows.h), where they are kept as well.
    GrowingRows small_codes;   // [B, m, d_r]
    GrowingRows small_scales;  // [B, m]
  };

  // Empty. At most `capacity` long-term rows a layer are kept, the youngest; 0: none.
  StreamMemory(const Model& model, std::int64_t streams, std::int64_t capacity);
  // Every stream as the checkpoint brought it.
  StreamMemory(const Model& model, const InitialMemory& initial, std::int64_t streams, std::int64_t capacity);

  // Rows that are dropped from now on keep their retriever keys in int8, too. Before the first drop.
  void keep_small_keys();

  std::int64_t streams() const { return streams_; }
  std::int64_t slots() const { return births_[0].size(1); }           // n, rows in short-term memory
  std::int64_t stored() const { return long_term_[0].birth.rows(); }  // m, rows in the long-term store
  std::int64_t updates() const { return updates_; }
  std::int64_t first_chunk() const { return first_chunk_; }  // 0, or negative: of what a checkpoint brought
  const Tensor& short_term(std::int64_t m) const { return short_term_[index(m)]; }  // [B, n, d], oldest first
  const Tensor& births(std::int64_t m) const { return births_[index(m)]; }          // [B, n], int64, rising
  const Tensor& tail(std::int64_t m) const { return tail_[index(m)]; }  // [B, t, d]: of the newest update
  std::int64_t tail_rows() const { return tail_rows_; }
  const LongTerm& long_term(std::int64_t m) const { return long_term_[index(m)]; }

  // How many slots must go before `written` rows fit.
  std::int64_t drops_for(std::int64_t written) const;
  // That many slots of each layer and stream, drawn uniformly: [M, B, drops]. Undefined where nothing must
  // go.
  Tensor draw_drops(std::int64_t written, const std::optional<at::Generator>& generator) const;
  // The same where these streams are B of `streams`, from `first` on: what the whole batch would have drawn.
  Tensor draw_drops(std::int64_t written, const std::optional<at::Generator>& generator, std::int64_t streams,
                    std::int64_t first) const;
  // Drops these slots to the long-term store and appends what a write pass made ([M] of [B, k, d]).
  void update(const Model& model, const std::vector<Tensor>& written, const Tensor& drops);

  // Gradients end here: for streams that live on after a step.
  void detach();

 private:
  static std::size_t index(std::int64_t m) { return static_cast<std::size_t>(m); }
  void store(const Model& model, std::int64_t m, const Tensor& hidden, const Tensor& birth);

  std::int64_t streams_, K_, N_, capacity_;
  std::int64_t updates_ = 0, tail_rows_ = 0, first_chunk_ = 0;
  bool small_keys_ = false;
  std::vector<Tensor> short_term_, births_;  // [M]
  std::vector<Tensor>
      tail_;  // [M]: the last rows of short_term_, as they were written: no slice to go back through
  std::vector<LongTerm> long_term_;  // [M]
};

// Rows of x [B, n, …] by indices [B, k], no row of a stream twice.
Tensor take_rows(const Tensor& x, const Tensor& indices);

}  // namespace mplus::train
