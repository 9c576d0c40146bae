#include "mplus/train/retriever/loss.h"

#include "mplus/train/model/upload.h"
#include "mplus/train/retriever/vote_scores.h"

namespace mplus::train {

Votes vote(const Model& model, const Tensor& states, const Tensor& asks, const Tensor& rows, std::int64_t m,
           std::int64_t top, const Tensor& layer_weights) {
  const std::int64_t L = states.size(0), n = states.size(1), candidates = rows.size(1) / m;
  std::vector<Tensor> layers;
  for (std::int64_t l = 0; l < L; ++l) {
    const Tensor queries = project(model.query, l, states[l]);  // [n, T, d_r]
    const Tensor keys = project(model.key, l, rows[l]);         // [candidates·m, d_r]
    const Tensor p = asked_scores(queries, asks, keys).view({n, candidates, m});
    const Tensor of_chunk = best_mean(p, top);  // [n, candidates]
    const Tensor mean = of_chunk.mean(-1, true);
    // The small number keeps the gradient finite where all candidates score alike.
    const Tensor sd = ((of_chunk - mean).square().mean(-1, true) + 1e-10).sqrt();
    layers.push_back((of_chunk - mean) / (sd + 1e-6));
  }
  Votes votes;
  votes.by_layer = torch::stack(layers);
  const Tensor w = layer_weights / layer_weights.sum();
  votes.all = (votes.by_layer * w.view({L, 1, 1})).sum(0);
  return votes;
}

RetrieverLoss retriever_batch_loss(const Model& model, const RetrieverCache& cache,
                                   const RetrieverBatch& batch, const RetrieverStageOptions& options,
                                   const Tensor& layer_weights, const Tensor& temperature, Random& random) {
  const torch::Device device = model.device();
  const std::int64_t K = model.memory.K, m = std::min(options.rows, K), L = model.config.layers;
  const std::int64_t top = options.vote_top > 0 ? std::max<std::int64_t>(1, options.vote_top * m / K) : 0;
  std::vector<std::int64_t> places, rows;
  for (const std::int64_t q : batch.questions) places.push_back(cache.place[static_cast<std::size_t>(q)]);
  std::vector<std::int64_t> order(static_cast<std::size_t>(K));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  for (const std::int64_t chunk : batch.candidates)
    for (std::int64_t i = 0; i < m; ++i) {  // m of K without repeats
      std::swap(order[static_cast<std::size_t>(i)],
                order[static_cast<std::size_t>(random.between(i, K - 1))]);
      rows.push_back(chunk * K + order[static_cast<std::size_t>(i)]);
    }
  const auto n = static_cast<std::int64_t>(places.size());
  const Tensor at = upload(places, {n}, torch::kInt64, device);
  const Tensor right = upload(batch.right, {n}, torch::kInt64, device);
  const Tensor of_rows = upload(rows, {static_cast<std::int64_t>(rows.size())}, torch::kInt64, device);
  const Votes votes = vote(model, cache.states.index_select(1, at), cache.asks.index_select(0, at),
                           cache.rows.index_select(1, of_rows), m, top, layer_weights);
  const auto cross_entropy = [&](const Tensor& scores) {  // [..., n, candidates]
    const Tensor log_p = torch::log_softmax(scores, -1);
    return -log_p.gather(-1, right.expand(scores.sizes().slice(0, scores.dim() - 1)).unsqueeze(-1)).mean();
  };
  const Tensor scale = temperature.exp();
  RetrieverLoss out;
  out.loss = cross_entropy(votes.all * scale[0]);
  if (options.each_layer > 0)
    out.loss =
        out.loss + options.each_layer * cross_entropy(votes.by_layer * scale.narrow(0, 1, L).view({L, 1, 1}));
  out.found = (votes.all.argmax(-1) == right).to(torch::kFloat32).detach();
  return out;
}

}  // namespace mplus::train
