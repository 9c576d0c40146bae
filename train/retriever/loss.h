// What the retriever's stage trains: the cross-entropy of the right chunk under the vote as recall by
// consensus takes it (docs/recall.md), so what is trained is what is used: scores of tokens, a chunk's best
// ones, standardised in each layer, weighted over layers.
#pragma once

#include "mplus/train/retriever/round.h"

namespace mplus::train {

// Votes of all candidates for each question, and their parts by layer. rows: [L, candidates·m, d].
struct Votes {
  Tensor by_layer;  // [L, questions, candidates], standardised
  Tensor all;       // [questions, candidates]
};
Votes vote(const Model& model, const Tensor& states, const Tensor& asks, const Tensor& rows, std::int64_t m,
           std::int64_t top, const Tensor& layer_weights);

struct RetrieverLoss {
  Tensor loss;
  Tensor found;  // [questions], 1 where the right chunk has the best vote
};
RetrieverLoss retriever_batch_loss(const Model& model, const RetrieverCache& cache,
                                   const RetrieverBatch& batch, const RetrieverStageOptions& options,
                                   const Tensor& layer_weights, const Tensor& temperature, Random& random);

}  // namespace mplus::train
