#include "mplus/train/recall.h"

#include <algorithm>

namespace mplus::train {

Tensor prefix_weights(const Tensor& lengths, std::int64_t T) {
  const Tensor asks = torch::arange(T, lengths.options()).unsqueeze(0) < lengths.unsqueeze(1);
  const Tensor weights = asks.to(torch::kFloat32);
  return weights / weights.sum(1, true);
}

Tensor recall_scores(const Tensor& queries, const Tensor& keys, const Tensor& weights) {
  const Tensor near = torch::sigmoid(torch::bmm(queries, keys.transpose(1, 2)));  // [B, T, n]
  const Tensor wide = near.to(at_least_float(near.scalar_type()));
  return torch::bmm(weights.to(wide.scalar_type()).unsqueeze(1), wide).squeeze(1);
}

Recall recall_per_layer(const Model& model, const StreamMemory& memory, std::vector<Tensor> askers) {
  return [&model, &memory, askers = std::move(askers)](std::int64_t l, const Tensor& normed) {
    const torch::NoGradGuard constant;
    const StreamMemory::LongTerm& rows = memory.long_term(l);
    const Tensor& asker = askers.size() == 1 ? askers[0] : askers.at(static_cast<std::size_t>(l));
    const Tensor scores = recall_scores(project(model.query, l, normed), rows.key.view(), asker);
    // Oldest first, then by score without disturbing equals.
    const Tensor by_birth = torch::argsort(rows.birth.view(), /*stable=*/true, -1, /*descending=*/false);
    const Tensor best = torch::argsort(scores.gather(1, by_birth), /*stable=*/true, -1, /*descending=*/true);
    return by_birth.gather(1, best.narrow(1, 0, std::min(model.memory.K0, memory.stored())));
  };
}

Recall recall_given(std::vector<Tensor> rows) {
  return [rows = std::move(rows)](std::int64_t l, const Tensor&) {
    return rows.at(static_cast<std::size_t>(l));
  };
}

}  // namespace mplus::train
