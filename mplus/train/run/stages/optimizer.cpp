#include "mplus/train/run/stages/optimizer.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "mplus/core/error.h"

namespace mplus::train {

std::vector<Trained> trained_tensors(Model& model, const LearningRates& rates) {
  std::vector<Trained> trained;
  model.base_trained |= rates.base > 0;
  for (const Parameter& p : parameters(model)) {
    const double rate = p.part == ParameterPart::base      ? rates.base
                        : p.part == ParameterPart::adapter ? rates.adapter
                        : p.part == ParameterPart::vectors ? rates.vectors
                                                           : rates.retriever;
    p.tensor->set_requires_grad(rate > 0);
    if (rate > 0) trained.push_back({p.name, *p.tensor, rate});
  }
  return trained;
}

AdamW::AdamW(std::vector<Trained> trained, const AdamWOptions& options, Processes* processes)
    : trained_(std::move(trained)), options_(options), processes_(processes) {
  const torch::NoGradGuard constant;
  for (std::size_t i = 0; i < trained_.size(); ++i) {
    const Tensor& tensor = trained_[i].tensor;
    MPLUS_CHECK(!processes_ || tensor.is_contiguous(), "{} is cut into pieces as it lies in memory",
                trained_[i].name);
    const Tensor piece = own_piece(i, tensor.detach());
    moments_.push_back({torch::zeros_like(piece), torch::zeros_like(piece),
                        torch::zeros({}, tensor.options().dtype(torch::kFloat32).requires_grad(false))});
  }
  sums_.resize(processes_ ? trained_.size() : 0);
}

std::int64_t AdamW::piece_size(std::size_t i) const {
  const std::int64_t n = processes_->share().processes;
  return (trained_[i].tensor.numel() + n - 1) / n;
}

Tensor AdamW::own_piece(std::size_t i, const Tensor& whole) const {
  if (!processes_) return whole;
  const std::int64_t size = piece_size(i), n = whole.numel();
  const std::int64_t first = std::min(n, processes_->share().process * size);
  return whole.view({-1}).narrow(0, first, std::min(n - first, size));
}

Tensor AdamW::gradient(std::size_t i) const { return processes_ ? sums_[i] : trained_[i].tensor.grad(); }

void AdamW::even_inputs(const Tensor& tensor, const Tensor& evened) {
  MPLUS_CHECK(!processes_, "pieces of a tensor have no inputs of their own");
  for (Trained& t : trained_)
    if (t.tensor.is_same(tensor)) t.evened = evened;
}

// One message for all tensors: row p of it holds, one tensor after another, what process p goes on with.
void AdamW::sum_gradients() {
  const torch::NoGradGuard constant;
  if (!processes_) {
    for (Trained& t : trained_)
      if (t.evened.defined() && t.tensor.grad().defined())
        t.tensor.mutable_grad() = torch::matmul(t.tensor.grad(), t.evened);
    return;
  }
  const std::int64_t processes = processes_->share().processes;
  std::vector<Tensor> columns;
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < trained_.size(); ++i) {
    const Tensor& gradient = trained_[i].tensor.grad();
    if (!gradient.defined()) continue;
    const std::int64_t missing = processes * piece_size(i) - gradient.numel();
    columns.push_back(torch::constant_pad_nd(gradient.reshape({-1}), {0, missing}).view({processes, -1}));
    which.push_back(i);
  }
  if (columns.empty()) return;
  const Tensor sum = processes_->sum_of_rows(torch::cat(columns, 1));
  std::int64_t at = 0;
  for (const std::size_t i : which) {
    sums_[i] = sum.narrow(0, at, moments_[i].first.numel());  // without what it was filled up with
    at += piece_size(i);
  }
}

Tensor AdamW::clip(double most) {
  const torch::NoGradGuard constant;
  std::vector<Tensor> norms, gradients;
  for (std::size_t i = 0; i < trained_.size(); ++i) {
    const Tensor g = gradient(i);
    if (!g.defined()) continue;
    gradients.push_back(g);
    norms.push_back(g.norm());
  }
  if (norms.empty()) return torch::zeros({});
  Tensor norm = torch::stack(norms).norm();
  if (processes_) norm = sum_over(processes_, norm.square()).sqrt();
  const Tensor scale = (most / (norm + 1e-6)).clamp_max(1.0);
  for (Tensor& g : gradients) g.mul_(scale);
  return norm;
}

void AdamW::step(double factor) {
  const torch::NoGradGuard constant;
  struct Group {
    std::vector<Tensor> tensors, gradients, first, second, steps;
  };
  std::map<double, Group> groups;                     // torch's fused step takes one rate
  std::vector<std::pair<std::size_t, Tensor>> moves;  // of Z, where inputs are evened
  for (std::size_t i = 0; i < trained_.size(); ++i) {
    const Tensor g = gradient(i);
    if (!g.defined()) continue;
    moments_[i].steps += 1;
    if (g.numel() == 0) continue;  // fewer numbers than processes
    Group& group = groups[trained_[i].rate];
    if (trained_[i].evened.defined())
      group.tensors.push_back(moves.emplace_back(i, torch::zeros_like(g)).second);
    else group.tensors.push_back(own_piece(i, trained_[i].tensor));
    group.gradients.push_back(g);
    group.first.push_back(moments_[i].first);
    group.second.push_back(moments_[i].second);
    group.steps.push_back(moments_[i].steps);
  }
  for (auto& [rate, g] : groups)
    at::_fused_adamw_(g.tensors, g.gradients, g.first, g.second, {}, g.steps, rate * factor, options_.beta1,
                      options_.beta2, options_.weight_decay, options_.epsilon, /*amsgrad=*/false,
                      /*maximize=*/false);
  for (const auto& [i, move] : moves) trained_[i].tensor.add_(torch::matmul(move, trained_[i].evened));
  if (processes_) share_weights();
  for (Trained& t : trained_) t.tensor.mutable_grad() = Tensor();
}

// What every process has stepped, to all others; in one message again.
void AdamW::share_weights() {
  std::vector<Tensor> pieces;
  for (std::size_t i = 0; i < trained_.size(); ++i) {
    if (!sums_[i].defined()) continue;
    const Tensor piece = own_piece(i, trained_[i].tensor);
    pieces.push_back(torch::constant_pad_nd(piece, {0, piece_size(i) - piece.numel()}));
  }
  if (pieces.empty()) return;
  const Tensor all = processes_->rows_of_all(torch::cat(pieces));
  std::int64_t at = 0;
  for (std::size_t i = 0; i < trained_.size(); ++i) {
    if (!sums_[i].defined()) continue;
    Tensor& tensor = trained_[i].tensor;
    const Tensor flat = all.narrow(1, at, piece_size(i)).reshape({-1});
    tensor.copy_(flat.narrow(0, 0, tensor.numel()).view(tensor.sizes()));
    at += piece_size(i);
    sums_[i] = Tensor();
  }
}

Tensor AdamW::whole(std::size_t i, const Tensor& piece) const {
  if (!processes_) return piece;
  const Tensor& tensor = trained_[i].tensor;
  const Tensor filled = torch::constant_pad_nd(piece, {0, piece_size(i) - piece.numel()});
  return processes_->rows_of_all(filled).view({-1}).narrow(0, 0, tensor.numel()).view(tensor.sizes());
}

std::vector<AdamW::Moments> AdamW::moments() const {
  const torch::NoGradGuard constant;
  std::vector<Moments> all;
  for (std::size_t i = 0; i < moments_.size(); ++i)
    all.push_back({whole(i, moments_[i].first), whole(i, moments_[i].second), moments_[i].steps});
  return all;
}

void AdamW::set_moments(std::size_t tensor, const Moments& moments) {
  const torch::NoGradGuard constant;
  moments_[tensor].first.copy_(own_piece(tensor, moments.first));
  moments_[tensor].second.copy_(own_piece(tensor, moments.second));
  moments_[tensor].steps.copy_(moments.steps);
}

double schedule_factor(std::int64_t step, std::int64_t warm_up_steps, double progress, double least) {
  const double warm = warm_up_steps > 0
                          ? std::min(1.0, static_cast<double>(step + 1) / static_cast<double>(warm_up_steps))
                          : 1.0;
  const double turn = 0.5 * (1 + std::cos(std::numbers::pi * std::clamp(progress, 0.0, 1.0)));
  return warm * (least + (1 - least) * turn);
}

}  // namespace mplus::train
