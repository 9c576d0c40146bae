// A plain statement of M+ in double precision on hidden states, written from docs/architecture.md alone: no
// key/value form, no cache, no batching, no kernels. Slow, and the measure of the real passes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mplus/model/weights.h"

namespace mplus::model::reference {

using Row = std::vector<double>;
using RowList = std::vector<Row>;  // hidden states, oldest first

class Model {
 public:
  explicit Model(const Weights& weights);

  // new_l for each layer, from the tails and the chunk.
  std::vector<RowList> inject(const std::vector<RowList>& tails, std::span<const std::int32_t> chunk) const;
  // Logits of every token; prefix[l] = recalled and short-term hidden states in the order attended to.
  RowList read(const std::vector<RowList>& prefix, std::span<const std::int32_t> tokens, bool with_bos) const;

 private:
  Row linear(const Matrix& w, const Row& x) const;
  Row project(const Projection& p, const Row& x, Adapter adapter) const;
  Row norm(const Row& x, const ConstTensor& weight) const;
  Row embed(std::int32_t token) const;
  void rotate(Row& x, std::int64_t heads, std::int64_t position) const;
  // One layer: rows are all inputs from position 0 on; the last `queries` of them are carried on.
  RowList layer(const Layer& l, const RowList& rows, std::int64_t queries, Adapter adapter) const;

  const Weights& w_;
  std::vector<float> frequencies_;
};

}  // namespace mplus::model::reference
