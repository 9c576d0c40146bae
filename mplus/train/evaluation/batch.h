// Questions that are due at the same moment, and what is known of the chunks that answer them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mplus/train/evaluation/plan.h"
#include "mplus/train/evaluation/reader.h"
#include "mplus/train/evaluation/search.h"

namespace mplus::train {

// One of them: of which stream among those that are written side by side, and how it is asked.
struct Due {
  std::int64_t stream;
  std::size_t memory;  // in the plan
  const PlannedMemory* planned;
  const PlannedAsk* ask;
  const PlannedQuestion& question() const { return planned->questions[ask->question]; }
};

// Q of them, on the device; n updates are done.
struct Batch {
  std::vector<Due> due;
  Tensor streams;  // [Q]
  Windows asking;  // the tokens that ask what to recall
  Tensor askers;   // [Q, T], their weights
  Tensor words;    // [Q, n], double
  Tensor gold;     // [Q, n], double: 1e6 and more for the chunks that hold the answer, the first the most
};
Batch make_batch(std::vector<Due> due, std::int64_t n, torch::Device device);

// Of the rows that the right chunks wrote: in short-term and in long-term memory. [Q], on the host.
struct Shares {
  Tensor short_term, long_term;
};
Shares right_shares(const Model& model, const Batch& batch, const ChunkSearch& search);

// Which share of the right chunks' rows each layer recalled: [Q, L], on the host. births: [L] of [Q, k], −1:
// none.
Tensor recalled_shares(const Model& model, const Batch& batch, const std::vector<Tensor>& births);

// The place of the first right chunk in an order, from 1.
std::int64_t rank_of(const std::vector<std::int64_t>& gold, std::span<const std::int64_t> order);

}  // namespace mplus::train
