// What the retriever's heads need before they can learn, by what they are given in a first round. Hidden
// states of one layer are much alike: a few directions hold most of their length, and in wide bases norms
// make them long. Then products of queries and keys are large and nearly the same for every row, the sigmoid
// is flat, and a layer stays as it was drawn.
#pragma once

#include <cstdint>
#include <vector>

#include "mplus/train/retriever/loss.h"

namespace mplus::train {

// [M, d, d], symmetric: (S + s·1)^(-1/2), where S is the mean of x·xᵀ over the inputs x of a layer and s the
// median of its eigenvalues. Inputs times these are about as long in every direction.
struct EvenedInputs {
  Tensor query, key;
};
EvenedInputs even_inputs(const RetrieverCache& cache);

// Share of questions whose chunk each layer finds first by itself: [M], on the CPU. One draw of candidates of
// every kind.
std::vector<double> found_by_layer(const Model& model, const RetrieverCache& cache,
                                   const RetrieverStageOptions& options, Random& random);

// Begins the heads of these layers (places) again: one random projection of the evened inputs for queries and
// keys alike, exactly linear, scaled so that products of tokens and rows have a standard deviation of 1.
void renew_layers(Model& model, const RetrieverCache& cache, const EvenedInputs& evened,
                  const std::vector<std::int64_t>& places, std::uint64_t seed);

}  // namespace mplus::train
