#include "mplus/train/optimizer.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

namespace mplus::train {

std::vector<Trained> trained_tensors(Model& model, const LearningRates& rates) {
  std::vector<Trained> trained;
  for (const Parameter& p : parameters(model)) {
    const double rate = p.part == Part::base      ? rates.base
                        : p.part == Part::adapter ? rates.adapter
                        : p.part == Part::vectors ? rates.vectors
                                                  : rates.retriever;
    p.tensor->set_requires_grad(rate > 0);
    if (rate > 0) trained.push_back({p.name, *p.tensor, rate});
  }
  return trained;
}

AdamW::AdamW(std::vector<Trained> trained, const AdamWOptions& options)
    : trained_(std::move(trained)), options_(options) {
  const torch::NoGradGuard constant;
  for (const Trained& t : trained_)
    moments_.push_back({torch::zeros_like(t.tensor), torch::zeros_like(t.tensor),
                        torch::zeros({}, t.tensor.options().dtype(torch::kFloat32).requires_grad(false))});
}

Tensor AdamW::clip(double most) {
  const torch::NoGradGuard constant;
  std::vector<Tensor> norms, gradients;
  for (const Trained& t : trained_) {
    if (!t.tensor.grad().defined()) continue;
    gradients.push_back(t.tensor.grad());
    norms.push_back(t.tensor.grad().norm());
  }
  if (norms.empty()) return torch::zeros({});
  const Tensor norm = torch::stack(norms).norm();
  const Tensor scale = (most / (norm + 1e-6)).clamp_max(1.0);
  for (Tensor& gradient : gradients) gradient.mul_(scale);
  return norm;
}

void AdamW::step(double factor) {
  const torch::NoGradGuard constant;
  struct Group {
    std::vector<Tensor> tensors, gradients, first, second, steps;
  };
  std::map<double, Group> groups;  // torch's fused step takes one rate
  for (std::size_t i = 0; i < trained_.size(); ++i) {
    Tensor& tensor = trained_[i].tensor;
    if (!tensor.grad().defined()) continue;
    Group& group = groups[trained_[i].rate];
    moments_[i].steps += 1;
    group.tensors.push_back(tensor);
    group.gradients.push_back(tensor.grad());
    group.first.push_back(moments_[i].first);
    group.second.push_back(moments_[i].second);
    group.steps.push_back(moments_[i].steps);
  }
  for (auto& [rate, g] : groups)
    at::_fused_adamw_(g.tensors, g.gradients, g.first, g.second, {}, g.steps, rate * factor, options_.beta1,
                      options_.beta2, options_.weight_decay, options_.epsilon, /*amsgrad=*/false,
                      /*maximize=*/false);
  for (Trained& t : trained_) t.tensor.mutable_grad() = Tensor();
}

double schedule_factor(std::int64_t step, std::int64_t warm_up_steps, double progress, double least) {
  const double warm = warm_up_steps > 0
                          ? std::min(1.0, static_cast<double>(step + 1) / static_cast<double>(warm_up_steps))
                          : 1.0;
  const double turn = 0.5 * (1 + std::cos(std::numbers::pi * std::clamp(progress, 0.0, 1.0)));
  return warm * (least + (1 - least) * turn);
}

}  // namespace mplus::train
