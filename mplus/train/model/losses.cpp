#include "mplus/train/model/losses.h"

#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "mplus/train/model/layers/decoder_layer.h"
#include "mplus/train/model/read_pass.h"
#include "mplus/train/model/recall.h"

namespace mplus::train {
namespace {

constexpr double kLeastProbability = 1e-5;

// −log p of targets [n] by rows [n, d] of normed states: some rows at a time, and computed again on the way
// back, since the logits of a large vocabulary are the largest tensor of a step.
struct RowsNll : torch::autograd::Function<RowsNll> {
  using Context = torch::autograd::AutogradContext;
  using List = torch::autograd::variable_list;
  static constexpr std::int64_t kAtOnce = 2048;

  static Tensor wide_scores(const Tensor& rows, const Tensor& head) {
    const Tensor scores = torch::linear(rows, head);
    return scores.to(at_least_float(scores.scalar_type()));
  }

  static Tensor forward(Context* context, const Tensor& rows, const Tensor& head, const Tensor& targets) {
    std::vector<Tensor> nll, sums;
    const auto aims = targets.split(kAtOnce);
    for (std::size_t i = 0; const Tensor& part : rows.split(kAtOnce)) {
      const Tensor scores = wide_scores(part, head);
      sums.push_back(torch::logsumexp(scores, -1));
      nll.push_back(sums.back() - scores.gather(-1, aims[i++].unsqueeze(-1)).squeeze(-1));
    }
    context->save_for_backward({rows, head, targets, torch::cat(sums)});
    context->saved_data["head"] = head.requires_grad();
    return torch::cat(nll);
  }

  // d nll / d scores = softmax(scores) − [target]
  static List backward(Context* context, List gradients) {
    const List kept = context->get_saved_variables();
    const Tensor &head = kept[1], drows = torch::empty_like(kept[0]);
    const bool trains = context->saved_data["head"].toBool();
    Tensor dhead = trains ? torch::zeros_like(head) : Tensor();
    for (std::int64_t first = 0; first < kept[0].size(0); first += kAtOnce) {
      const std::int64_t count = std::min(kAtOnce, kept[0].size(0) - first);
      const auto part = [&](const Tensor& x) { return x.narrow(0, first, count); };
      const Tensor each = part(gradients[0]).unsqueeze(-1), aims = part(kept[2]).unsqueeze(-1);
      Tensor d = wide_scores(part(kept[0]), head).sub_(part(kept[3]).unsqueeze(-1)).exp_().mul_(each);
      d.scatter_add_(-1, aims, -each.to(d.scalar_type()));
      d = d.to(head.scalar_type());
      part(drows).copy_(torch::mm(d, head));
      if (trains) dhead.addmm_(d.t(), part(kept[0]));
    }
    return {drows, dhead, Tensor()};
  }
};

Tensor normed_slots(const Model& model, const StreamMemory& memory, std::int64_t m) {
  return rms_norm(memory.short_term(m), model.memory_norm(m), model.config.norm_epsilon).detach();
}

}  // namespace

Tensor token_nll(const Model& model, const Tensor& hidden, const Tensor& targets) {
  const Tensor normed = rms_norm(hidden, model.base.final_norm, model.config.norm_epsilon);
  return RowsNll::apply(normed.reshape({-1, normed.size(-1)}), model.base.head.to(model.compute),
                        targets.reshape(-1))
      .view(targets.sizes());
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
