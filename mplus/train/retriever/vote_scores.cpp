#include "mplus/train/retriever/vote_scores.h"

#include "mplus/train/gpu/gpu.h"
#include "mplus/train/model/layers/rope.h"

namespace mplus::train {

Tensor asked_scores(const Tensor& queries, const Tensor& weights, const Tensor& keys) {
  if (gpu::scores(queries)) return gpu::asked_scores(queries, weights, keys);
  const std::int64_t n = queries.size(0), T = queries.size(1), rows = keys.size(0);
  // In float32 from here on: scores of different chunks differ by less than bfloat16 can tell.
  const Tensor products = torch::linear(queries.flatten(0, 1), keys);
  const Tensor near = torch::sigmoid(products.to(at_least_float(products.scalar_type())));
  return torch::bmm(weights.to(near.scalar_type()).unsqueeze(1), near.view({n, T, rows})).squeeze(1);
}

Tensor best_mean(const Tensor& scores, std::int64_t top) {
  if (top <= 0 || top >= scores.size(-1)) return scores.mean(-1);
  if (gpu::averages(scores)) return gpu::best_mean(scores, top);
  return std::get<0>(scores.topk(top, -1)).mean(-1);
}

}  // namespace mplus::train
