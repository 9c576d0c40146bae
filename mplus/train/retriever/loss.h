// What the retriever's stage trains: the cross-entropy of the right chunk under the vote as recall by
// consensus takes it and, where that is asked for, under the cosines of one vector a chunk (docs/recall.md).
// So what is trained is what is used.
#pragma once

#include "mplus/train/retriever/round.h"

namespace mplus::train {

// Queries of the questions' tokens and keys of the candidates' rows, which both rules go by.
struct Projected {
  std::vector<Tensor> queries;  // [M] of [questions, T, d_r]
  std::vector<Tensor> keys;     // [M] of [candidates·m, d_r]
};
// states: [M, questions, T, d]; rows: [M, candidates·m, d]; both normed.
Projected project_all(const Model& model, const Tensor& states, const Tensor& rows);

// Votes of all candidates for each question, and their parts by layer: scores of tokens, a chunk's best ones
// (top; 0: all), standardised in each layer, weighted over layers. asks: [questions, T], weights of the
// tokens that ask; m: rows of each candidate.
struct Votes {
  Tensor by_layer;  // [M, questions, candidates], standardised
  Tensor all;       // [questions, candidates]
};
Votes vote(const Projected& projected, const Tensor& asks, std::int64_t m, std::int64_t top,
           const Tensor& layer_weights);

// One vector a question and one a chunk, their layers end to end: cosines, [questions, candidates]. A layer's
// part of a question is the sum of its queries by their shares, the softmax of (state · vector_pool) over the
// tokens that ask; of a chunk, the mean of its keys.
Tensor vector_cosines(const Model& model, const Projected& projected, const Tensor& states,
                      const Tensor& asks, std::int64_t m);

// Trained beside the model's own tensors, as logarithms: all of them are factors above 0.
struct RetrieverFactors {
  RetrieverFactors(const Model& model, const RetrieverStageOptions& options);

  Tensor layers;  // [M], weights of the layers in the vote
  Tensor votes;   // [1 + M], of the vote and of each layer's before the softmax
  Tensor vector;  // [1], of the cosines; undefined where they are not trained
};

struct RetrieverLoss {
  Tensor loss;
  Tensor found;            // [questions], 1 where the right chunk has the best vote
  Tensor found_by_layer;   // [M, questions], the same by each layer alone
  Tensor found_by_vector;  // the same by cosines; undefined where they are not trained
};
RetrieverLoss retriever_batch_loss(const Model& model, const RetrieverCache& cache,
                                   const RetrieverBatch& batch, const RetrieverStageOptions& options,
                                   const RetrieverFactors& factors, Random& random);

}  // namespace mplus::train
