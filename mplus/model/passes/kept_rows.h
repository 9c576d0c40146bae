// What a memory keeps of hidden states: keys and values as reads see them, and retriever keys. Of several
// layers at once, where a device makes their products together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "mplus/core/tensors/buffer.h"
#include "mplus/core/tensors/tensor.h"
#include "mplus/model/passes/workspace.h"

namespace mplus::model {

class KeptRows {
 public:
  // `rows` of each of up to `layers` layers.
  KeptRows(Workspace& w, std::int64_t rows, std::int64_t layers);

  // How many layers are worth projecting together: 1, 2, 4 or 8.
  static std::int64_t worth_together(Workspace& w, std::int64_t rows);

  std::int64_t most_layers() const { return layers_; }
  // Of the place-th layer: normed hidden states, to be filled, and what project() makes of them.
  Tensor normed(std::size_t place) const { return of(normed_, place); }  // [rows, d]
  Tensor k(std::size_t place) const { return of(k_, place); }            // [rows, G·e]
  Tensor v(std::size_t place) const { return of(v_, place); }
  Tensor key(std::size_t place) const { return of(key_, place); }  // [rows, d_r]
  // The i-th of the layers is that of place i.
  void project(std::span<const std::int64_t> layers, Adapter adapter);

 private:
  Tensor of(const Tensor& all, std::size_t place) const {
    return all.rows(static_cast<std::int64_t>(place) * rows_, rows_);
  }
  void finish_keys(std::span<const std::int64_t> layers);

  Workspace* w_;
  std::int64_t rows_, layers_;
  Buffer memory_;
  Tensor normed_, k_, v_, hidden_, key_, low_k_, low_v_;  // of all places
};

}  // namespace mplus::model
