#include "mplus/train/model/recall.h"

#include <algorithm>

namespace mplus::train {

Tensor range_weights(const Tensor& from, const Tensor& to, std::int64_t T) {
  const Tensor at = torch::arange(T, to.options()).unsqueeze(0);
  const Tensor asks = (at >= from.unsqueeze(1)).logical_and(at < to.unsqueeze(1));
  const Tensor weights = asks.to(torch::kFloat32);
  return weights / weights.sum(1, true);
}

Tensor prefix_weights(const Tensor& lengths, std::int64_t T) {
  return range_weights(torch::zeros_like(lengths), lengths, T);
}

Tensor recall_scores(const Tensor& queries, const Tensor& keys, const Tensor& weights) {
  const Tensor near = torch::sigmoid(torch::bmm(queries, keys.transpose(1, 2)));  // [B, T, n]
  const Tensor wide = near.to(at_least_float(near.scalar_type()));
  return torch::bmm(weights.to(wide.scalar_type()).unsqueeze(1), wide).squeeze(1);
}

Tensor best_rows(const Tensor& scores, const Tensor& births, std::int64_t most) {
  // Oldest first, then by score without disturbing equals.
  const Tensor by_birth = torch::argsort(births, /*stable=*/true, -1, /*descending=*/false);
  const Tensor best = torch::argsort(scores.gather(1, by_birth), /*stable=*/true, -1, /*descending=*/true);
  return by_birth.gather(1, best.narrow(1, 0, std::min(most, births.size(1))));
}

Recall recall_per_layer(const Model& model, const StreamMemory& memory, std::vector<Tensor> askers) {
  return [&model, &memory, askers = std::move(askers)](std::int64_t m, const Tensor& normed) {
    const torch::NoGradGuard constant;
    const StreamMemory::LongTerm& rows = memory.long_term(m);
    const Tensor& asker = askers.size() == 1 ? askers[0] : askers.at(static_cast<std::size_t>(m));
    const Tensor scores = recall_scores(project(model.query, m, normed), rows.key.view(), asker);
    return best_rows(scores, rows.birth.view(), model.memory.K0);
  };
}

Tensor chunk_votes(const std::vector<Tensor>& scores, const std::vector<Tensor>& chunks, std::int64_t n,
                   std::int64_t top, const Tensor& layer_weights) {
  const std::int64_t B = scores.at(0).size(0);
  const auto options = scores[0].options().dtype(torch::kFloat64).requires_grad(false);
  Tensor sum = torch::zeros({B, n}, options);
  double weights = 0;
  for (std::size_t l = 0; l < scores.size(); ++l) {
    // Best scores first inside each chunk, so that a row's place in its chunk says whether it counts.
    Tensor score = scores[l].to(torch::kFloat64), chunk = chunks[l];
    const Tensor best = torch::argsort(score, /*stable=*/true, -1, /*descending=*/true);
    const Tensor order =
        best.gather(1, torch::argsort(chunk.gather(1, best), /*stable=*/true, -1, /*descending=*/false));
    score = score.gather(1, order);
    chunk = chunk.gather(1, order);
    Tensor count = torch::zeros({B, n}, options).scatter_add(1, chunk, torch::ones_like(score));
    if (top > 0) {
      const Tensor first = count.cumsum(1) - count;  // of each chunk among the ordered rows
      const Tensor place = torch::arange(score.size(1), options).unsqueeze(0) - first.gather(1, chunk);
      score = torch::where(place < static_cast<double>(top), score, torch::zeros_like(score));
    }
    const Tensor present = (count > 0).to(torch::kFloat64);
    const Tensor counted = top > 0 ? count.clamp_max(static_cast<double>(top)) : count;
    const Tensor mean = torch::zeros({B, n}, options).scatter_add(1, chunk, score) / counted.clamp_min(1);
    const Tensor voted = present.sum(1, true).clamp_min(1);
    const Tensor centre = (mean * present).sum(1, true) / voted;
    const Tensor spread = ((mean - centre).square() * present).sum(1, true).div(voted).sqrt();
    const double weight =
        layer_weights.defined() ? layer_weights[static_cast<std::int64_t>(l)].item<double>() : 1;
    sum += weight * (mean - centre) / (spread + 1e-6) * present;
    weights += weight;
  }
  return sum / weights;
}

std::vector<Tensor> rows_by_vote(const Tensor& votes, const std::vector<Tensor>& scores,
                                 const std::vector<Tensor>& chunks, const std::vector<Tensor>& births,
                                 std::int64_t K0) {
  const Tensor falling =
      torch::argsort(votes, /*stable=*/true, -1, /*descending=*/true);  // ties: older first
  const Tensor rank = torch::empty_like(falling).scatter_(
      1, falling, torch::arange(votes.size(1), falling.options()).expand_as(falling));
  std::vector<Tensor> rows;
  for (std::size_t l = 0; l < scores.size(); ++l) {
    // Sorted by the least important key first: age, then score, then the rank of the chunk.
    Tensor order = torch::argsort(births[l], /*stable=*/true, -1, /*descending=*/false);
    const auto then = [&](const Tensor& key, bool descending) {
      order = order.gather(1, torch::argsort(key.gather(1, order), /*stable=*/true, -1, descending));
    };
    then(scores[l], true);
    then(rank.gather(1, chunks[l]), false);
    rows.push_back(order.narrow(1, 0, std::min(K0, order.size(1))));
  }
  return rows;
}

Recall recall_consensus(const Model& model, const StreamMemory& memory, const std::vector<Tensor>& normed,
                        const Tensor& askers) {
  const torch::NoGradGuard constant;
  std::vector<Tensor> scores, births, chunks;
  for (std::int64_t m = 0; m < model.memory_layers(); ++m) {
    const StreamMemory::LongTerm& rows = memory.long_term(m);
    scores.push_back(recall_scores(project(model.query, m, normed.at(static_cast<std::size_t>(m))),
                                   rows.key.view(), askers));
    births.push_back(rows.birth.view());
    chunks.push_back(births.back().floor_divide(model.memory.K) - memory.first_chunk());
  }
  const Tensor votes = chunk_votes(scores, chunks, memory.updates() - memory.first_chunk(),
                                   model.memory.recall.vote_top, model.vote_weights);
  return recall_given(rows_by_vote(votes, scores, chunks, births, model.memory.K0));
}

Recall recall_given(std::vector<Tensor> rows) {
  return [rows = std::move(rows)](std::int64_t m, const Tensor&) {
    return rows.at(static_cast<std::size_t>(m));
  };
}

}  // namespace mplus::train
