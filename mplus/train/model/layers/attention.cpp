#include "mplus/train/model/layers/attention.h"

#include <torch/csrc/autograd/autograd.h>

#include "mplus/train/gpu/gpu.h"

namespace mplus::train {
namespace {

Tensor attend_composed(const Tensor& q, const Tensor& k, const Tensor& v) {
  const std::int64_t T = q.size(1), keys = k.size(1), shared = q.size(2) / k.size(2);
  const Tensor seen = torch::ones({T, keys}, q.options().dtype(torch::kBool)).tril(keys - T);
  const auto each_head = [&](const Tensor& x) { return x.repeat_interleave(shared, 2).transpose(1, 2); };
  return torch::scaled_dot_product_attention(q.transpose(1, 2), each_head(k), each_head(v), seen)
      .transpose(1, 2)
      .contiguous();
}

}  // namespace

Attention attend(const Tensor& q, const Tensor& k, const Tensor& v) {
  if (gpu::attends(q)) return gpu::attend(q, k, v);
  return {attend_composed(q, k, v), {}};
}

AttentionGradients attend_back(const Tensor& dout, const Tensor& q, const Tensor& k, const Tensor& v,
                               const Attention& attention) {
  if (gpu::attends(q)) return gpu::attend_back(dout, q, k, v, attention);
  const torch::AutoGradMode again(true);
  const std::vector<Tensor> inputs = {q.detach().requires_grad_(), k.detach().requires_grad_(),
                                      v.detach().requires_grad_()};
  const std::vector<Tensor> d =
      torch::autograd::grad({attend_composed(inputs[0], inputs[1], inputs[2])}, inputs, {dout});
  return {d[0], d[1], d[2]};
}

}  // namespace mplus::train
