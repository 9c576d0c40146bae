#include "mplus/train/model/losses.h"

#include "mplus/train/model/decoder_layer.h"
#include "mplus/train/model/read_pass.h"
#include "mplus/train/model/recall.h"

namespace mplus::train {
namespace {

constexpr double kLeastProbability = 1e-5;

Tensor normed_slots(const Model& model, const StreamMemory& memory, std::int64_t m) {
  return rms_norm(memory.short_term(m), model.memory_norm(m), model.config.norm_epsilon).detach();
}

}  // namespace

Tensor token_nll(const Model& model, const Tensor& hidden, const Tensor& targets) {
  const Tensor scores = logits(model, hidden);
  const Tensor wide = scores.to(at_least_float(scores.scalar_type()));
  return torch::logsumexp(wide, -1) - wide.gather(-1, targets.unsqueeze(-1)).squeeze(-1);
}

Tensor next_token_loss(const Model& model, const Tensor& hidden, const Tensor& tokens) {
  const std::int64_t T = tokens.size(1);
  return token_nll(model, hidden.narrow(1, 0, T - 1), tokens.narrow(1, 1, T - 1)).mean();
}

Tensor retriever_loss(const std::vector<Tensor>& p, const std::vector<Tensor>& right, Processes* processes) {
  std::vector<Tensor> flat_p, flat_right;
  for (std::size_t l = 0; l < p.size(); ++l) {
    flat_p.push_back(p[l].flatten());
    flat_right.push_back(right[l].flatten().to(p[l].scalar_type()));
  }
  const Tensor all = torch::cat(flat_p), is_right = torch::cat(flat_right), is_wrong = 1 - is_right;
  // Sums over counts of at least 1, not masked selection: no host synchronisation, and an empty set gives 0.
  const auto mean = [&](const Tensor& values, const Tensor& chosen) {
    return (values * chosen).sum() / sum_over(processes, chosen.sum()).clamp_min(1);
  };
  return 0.5 * mean(-torch::log(all + kLeastProbability), is_right) +
         0.5 * mean(-torch::log(1 - all + kLeastProbability), is_wrong);
}

std::vector<Tensor> slot_scores(const Model& model, const StreamMemory& memory, const RetrieverHead& query,
                                const std::vector<Tensor>& normed, const std::vector<Tensor>& askers) {
  std::vector<Tensor> p;
  for (std::int64_t m = 0; m < model.memory_layers(); ++m) {
    const auto at = static_cast<std::size_t>(m);
    p.push_back(recall_scores(project(query, m, normed[at]),
                              project(model.key, m, normed_slots(model, memory, m)),
                              askers.size() == 1 ? askers[0] : askers.at(at)));
  }
  return p;
}

std::vector<Tensor> encoder_slot_scores(const Model& model, const StreamMemory& memory) {
  std::vector<Tensor> newest;
  for (std::int64_t m = 0; m < model.memory_layers(); ++m)
    newest.push_back(
        normed_slots(model, memory, m).narrow(1, memory.slots() - memory.tail_rows(), memory.tail_rows()));
  const Tensor all =
      torch::full({memory.streams(), memory.tail_rows()}, 1.0 / static_cast<double>(memory.tail_rows()),
                  torch::TensorOptions(model.device()));
  return slot_scores(model, memory, model.encoder_query, newest, {all});
}

}  // namespace mplus::train
