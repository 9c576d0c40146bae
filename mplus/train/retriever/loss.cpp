#include "mplus/train/retriever/loss.h"

#include <cmath>
#include <limits>

#include "mplus/train/gpu/upload.h"
#include "mplus/train/retriever/vote_scores.h"

namespace mplus::train {
namespace {

// m of each candidate's K rows, without repeats: places in the cache's rows.
std::vector<std::int64_t> draw_rows(const RetrieverBatch& batch, std::int64_t K, std::int64_t m,
                                    Random& random) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(K)), rows;
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  for (const std::int64_t chunk : batch.candidates)
    for (std::int64_t i = 0; i < m; ++i) {
      std::swap(order[static_cast<std::size_t>(i)],
                order[static_cast<std::size_t>(random.between(i, K - 1))]);
      rows.push_back(chunk * K + order[static_cast<std::size_t>(i)]);
    }
  return rows;
}

// Of the right candidate, by scores [..., questions, candidates].
Tensor cross_entropy(const Tensor& scores, const Tensor& right) {
  const Tensor log_p = torch::log_softmax(scores, -1);
  std::vector<std::int64_t> shape = scores.sizes().vec();
  shape.back() = 1;
  return -log_p.gather(-1, right.view({-1, 1}).expand(shape)).mean();
}

Tensor found_first(const Tensor& scores, const Tensor& right) {
  return (scores.argmax(-1) == right).to(torch::kFloat32).detach();
}

}  // namespace

Projected project_all(const Model& model, const Tensor& states, const Tensor& rows) {
  Projected projected;
  for (std::int64_t m = 0; m < model.memory_layers(); ++m) {
    projected.queries.push_back(project(model.query, m, states[m]));
    projected.keys.push_back(project(model.key, m, rows[m]));
  }
  return projected;
}

Votes vote(const Projected& projected, const Tensor& asks, std::int64_t m, std::int64_t top,
           const Tensor& layer_weights) {
  std::vector<Tensor> layers;
  for (std::size_t l = 0; l < projected.queries.size(); ++l) {
    const Tensor p = asked_scores(projected.queries[l], asks, projected.keys[l]);  // [n, candidates·m]
    const Tensor of_chunk = best_mean(p.view({p.size(0), -1, m}), top);            // [n, candidates]
    const Tensor mean = of_chunk.mean(-1, true);
    // The small number keeps the gradient finite where all candidates score alike.
    const Tensor sd = ((of_chunk - mean).square().mean(-1, true) + 1e-10).sqrt();
    layers.push_back((of_chunk - mean) / (sd + 1e-6));
  }
  Votes votes;
  votes.by_layer = torch::stack(layers);
  const Tensor w = layer_weights / layer_weights.sum();
  votes.all = (votes.by_layer * w.view({-1, 1, 1})).sum(0);
  return votes;
}

Tensor vector_cosines(const Model& model, const Projected& projected, const Tensor& states,
                      const Tensor& asks, std::int64_t m) {
  const torch::Dtype wide = at_least_float(states.scalar_type());
  const Tensor silent = asks == 0;  // [n, T]
  std::vector<Tensor> questions, chunks;
  for (std::int64_t l = 0; l < model.memory_layers(); ++l) {
    const Tensor near = torch::matmul(states[l], model.vector_pool[l].to(states.scalar_type())).to(wide);
    const Tensor shares = near.masked_fill(silent, -std::numeric_limits<double>::infinity()).softmax(-1);
    const Tensor queries = projected.queries[static_cast<std::size_t>(l)].to(wide);  // [n, T, d_r]
    const Tensor keys = projected.keys[static_cast<std::size_t>(l)].to(wide);        // [candidates·m, d_r]
    questions.push_back(torch::bmm(shares.unsqueeze(1), queries).squeeze(1));
    chunks.push_back(keys.view({-1, m, keys.size(-1)}).mean(1));
  }
  const auto unit = [](const std::vector<Tensor>& parts) {
    const Tensor whole = torch::cat(parts, 1);  // [.., M·d_r]
    return whole / whole.norm(2, {1}, true).clamp_min(1e-12);
  };
  return torch::matmul(unit(questions), unit(chunks).t());
}

RetrieverFactors::RetrieverFactors(const Model& model, const RetrieverStageOptions& options) {
  const auto on_device = torch::TensorOptions(model.device());
  const std::int64_t M = model.memory_layers();
  layers = model.vote_weights.defined() ? model.vote_weights.detach().clamp_min(1e-3).log()
                                        : torch::zeros({M}, on_device);
  votes = torch::full({1 + M}, std::log(4.0), on_device);
  // Cosines are small numbers: without a factor no candidate could come near a probability of 1.
  if (options.vector > 0) vector = torch::full({1}, std::log(20.0), on_device);
  for (Tensor* tensor : {&layers, &votes, &vector})
    if (tensor->defined()) tensor->requires_grad_();
}

RetrieverLoss retriever_batch_loss(const Model& model, const RetrieverCache& cache,
                                   const RetrieverBatch& batch, const RetrieverStageOptions& options,
                                   const RetrieverFactors& factors, Random& random) {
  const torch::Device device = model.device();
  const std::int64_t K = model.memory.K, m = std::min(options.rows, K), M = model.memory_layers();
  const std::int64_t top = options.vote_top > 0 ? std::max<std::int64_t>(1, options.vote_top * m / K) : 0;
  std::vector<std::int64_t> places;
  for (const std::int64_t q : batch.questions) places.push_back(cache.place[static_cast<std::size_t>(q)]);
  const std::vector<std::int64_t> rows = draw_rows(batch, K, m, random);
  const auto n = static_cast<std::int64_t>(places.size());
  const Tensor at = upload(places, {n}, torch::kInt64, device);
  const Tensor right = upload(batch.right, {n}, torch::kInt64, device);
  const Tensor of_rows = upload(rows, {static_cast<std::int64_t>(rows.size())}, torch::kInt64, device);
  const Tensor states = cache.states.index_select(1, at), asks = cache.asks.index_select(0, at);
  const Projected projected = project_all(model, states, cache.rows.index_select(1, of_rows));
  const Votes votes = vote(projected, asks, m, top, factors.layers.exp());
  const Tensor scale = factors.votes.exp();
  RetrieverLoss out;
  out.loss = cross_entropy(votes.all * scale[0], right);
  if (options.each_layer > 0)
    out.loss = out.loss + options.each_layer *
                              cross_entropy(votes.by_layer * scale.narrow(0, 1, M).view({M, 1, 1}), right);
  out.found = found_first(votes.all, right);
  out.found_by_layer = found_first(votes.by_layer, right);
  if (options.vector > 0) {
    const Tensor cosines = vector_cosines(model, projected, states, asks, m);
    out.loss = out.loss + options.vector * cross_entropy(cosines * factors.vector.exp(), right);
    out.found_by_vector = found_first(cosines, right);
  }
  return out;
}

}  // namespace mplus::train
