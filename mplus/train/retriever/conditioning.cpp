#include "mplus/train/retriever/conditioning.h"

#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "mplus/core/error.h"

namespace mplus::train {
namespace {

constexpr std::int64_t kSampled = 32'768;  // inputs of a layer that are looked at

// Every n-th of the first dimension, so that at most `most` are left.
Tensor thinned(const Tensor& x, std::int64_t most) {
  return x.slice(0, 0, x.size(0), std::max<std::int64_t>(1, (x.size(0) + most - 1) / most));
}

// Those of a question's tokens that ask, of every place: indices into [places·T].
Tensor asking(const RetrieverCache& cache) {
  return thinned(cache.asks.flatten().nonzero().squeeze(-1), kSampled);
}

Tensor asking_states(const RetrieverCache& cache, std::int64_t m, const Tensor& which) {
  return cache.states[m].flatten(0, 1).index_select(0, which).to(torch::kFloat32);
}

Tensor sampled_rows(const RetrieverCache& cache, std::int64_t m) {
  return thinned(cache.rows[m], kSampled).to(torch::kFloat32);
}

std::tuple<Tensor, Tensor> eigen(const Tensor& square) {
  try {
    return torch::linalg_eigh(square, "L");
  } catch (const c10::Error&) {  // a GPU without the libraries for it
    const auto [values, vectors] = torch::linalg_eigh(square.to(torch::kCPU), "L");
    return {values.to(square.device()), vectors.to(square.device())};
  }
}

Tensor evened(const Tensor& x) {
  const auto [values, vectors] = eigen(torch::matmul(x.t(), x) / x.size(0));
  const Tensor length = values.clamp_min(0);
  const Tensor scale = (length + length.median() + 1e-12).rsqrt();
  return torch::matmul(vectors * scale, vectors.t());
}

}  // namespace

EvenedInputs even_inputs(const RetrieverCache& cache) {
  const torch::NoGradGuard constant;
  const Tensor which = asking(cache);
  std::vector<Tensor> query, key;
  for (std::int64_t m = 0; m < cache.rows.size(0); ++m) {
    query.push_back(evened(asking_states(cache, m, which)));
    key.push_back(evened(sampled_rows(cache, m)));
  }
  return {.query = torch::stack(query), .key = torch::stack(key)};
}

std::vector<double> found_by_layer(const Model& model, const RetrieverCache& cache,
                                   const RetrieverStageOptions& options, Random& random) {
  const torch::NoGradGuard constant;
  RetrieverStageOptions of_all = options;
  of_all.same_kind = 0;
  const RetrieverBatch batch = draw_batch(cache, of_all, random, std::nullopt);
  const RetrieverFactors factors(model, options);
  const Tensor found = retriever_batch_loss(model, cache, batch, of_all, factors, random).found_by_layer;
  const Tensor shares = found.mean(-1).to(torch::kCPU, torch::kFloat64);
  return {shares.const_data_ptr<double>(), shares.const_data_ptr<double>() + shares.numel()};
}

void renew_layers(Model& model, const RetrieverCache& cache, const EvenedInputs& evened,
                  const std::vector<std::int64_t>& places, std::uint64_t seed) {
  const torch::NoGradGuard constant;
  MPLUS_CHECK(model.query.second.defined() && model.key.second.defined(), "heads of two layers");
  const std::int64_t d = model.query.first.size(2), e = model.query.second.size(1),
                     hidden = model.query.second.size(2);
  MPLUS_CHECK(hidden == 2 * e, "a head's first layer is twice as wide as its second");
  const Tensor which = asking(cache);
  const at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  const auto like = model.query.first.options().requires_grad(false);
  const Tensor one = torch::eye(e, like);
  for (const std::int64_t m : places) {
    const Tensor v = (torch::randn({e, d}, generator, torch::kFloat32) / std::sqrt(static_cast<double>(d)))
                         .to(like.device(), like.dtype());
    // silu(x) − silu(−x) = x: pairs of units pass the projection on as it is, and can part later.
    const Tensor pairs = torch::cat({v, -v});
    const Tensor q = torch::matmul(thinned(asking_states(cache, m, which), 2048),
                                   torch::matmul(v, evened.query[m]).t().to(torch::kFloat32));
    const Tensor k = torch::matmul(thinned(sampled_rows(cache, m), 4096),
                                   torch::matmul(v, evened.key[m]).t().to(torch::kFloat32));
    const Tensor sd = torch::matmul(q, k.t()).std();
    const Tensor second = torch::cat({one, -one}, 1) * sd.rsqrt().to(like.dtype());
    model.query.first[m].copy_(torch::matmul(pairs, evened.query[m]));
    model.key.first[m].copy_(torch::matmul(pairs, evened.key[m]));
    model.query.second[m].copy_(second);
    model.key.second[m].copy_(second);
  }
}

}  // namespace mplus::train
