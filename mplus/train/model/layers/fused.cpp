#include "mplus/train/model/layers/fused.h"

#include <torch/csrc/autograd/custom_function.h>

#include "mplus/train/gpu/gpu.h"

namespace mplus::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

Tensor widened(const Tensor& x) { return x.to(at_least_float(x.scalar_type())); }

struct RmsNorm : torch::autograd::Function<RmsNorm> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight, double epsilon) {
    const Normed normed = normalise(x, weight, static_cast<float>(epsilon));
    context->save_for_backward({x, weight, normed.inverse});
    context->saved_data["trains"] = weight.requires_grad();
    return normed.y;
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const Tensor &dy = gradients[0], &x = saved[0], &inverse = saved[2];
    return {normalise_back(dy, x, saved[1], inverse, {}),
            context->saved_data["trains"].toBool() ? normalise_weight_back(dy, x, inverse) : Tensor(),
            Tensor()};
  }
};

}  // namespace

Tensor rms_norm(const Tensor& x, const Tensor& weight, float epsilon) {
  return RmsNorm::apply(x, weight, static_cast<double>(epsilon));
}

Normed normalise(const Tensor& x, const Tensor& weight, float epsilon) {
  if (gpu::normalises(x)) return gpu::normalise(x, weight, epsilon);
  const Tensor wide = widened(x);
  const Tensor scale = torch::rsqrt(wide.square().mean(-1, true) + static_cast<double>(epsilon));
  return {(wide * scale * weight).to(x.scalar_type()), scale.flatten()};
}

Tensor normalise_back(const Tensor& dy, const Tensor& x, const Tensor& weight, const Tensor& inverse,
                      const Tensor& plus) {
  if (gpu::normalises(x)) return gpu::normalise_back(dy, x, weight, inverse, plus);
  // dx = s·(w·dy) − x·s³·mean(w·dy·x)
  const Tensor wide = widened(x), back = widened(dy) * weight;
  const Tensor s = inverse.view(x.sizes().slice(0, static_cast<std::size_t>(x.dim()) - 1)).unsqueeze(-1);
  Tensor dx = s * back - wide * (s.pow(3) * (back * wide).mean(-1, true));
  if (plus.defined()) dx = dx + widened(plus);
  return dx.to(x.scalar_type());
}

Tensor normalise_weight_back(const Tensor& dy, const Tensor& x, const Tensor& inverse) {
  const std::int64_t d = x.size(-1);
  return (widened(dy).reshape({-1, d}) * widened(x).reshape({-1, d}) * inverse.unsqueeze(1)).sum(0);
}

Tensor swiglu(const Tensor& gate_up) {
  if (gpu::gates(gate_up)) return gpu::swiglu(gate_up);
  const auto halves = gate_up.chunk(2, -1);
  return torch::silu(halves[0]) * halves[1];
}

Tensor swiglu_back(const Tensor& dy, const Tensor& gate_up) {
  if (gpu::gates(gate_up)) return gpu::swiglu_back(dy, gate_up);
  const auto halves = gate_up.chunk(2, -1);
  const Tensor sigmoid = torch::sigmoid(halves[0]), silu = halves[0] * sigmoid;
  return torch::cat({dy * halves[1] * sigmoid * (1 + halves[0] * (1 - sigmoid)), dy * silu}, -1);
}

void rotate_into(const Tensor& from, const Tensor& to, const Rotation& at, Rotate way) {
  const float sign = way == Rotate::forward ? 1 : -1;
  if (gpu::rotates(from, to)) return gpu::rotate_into(from, to, at, way);
  const auto halves = widened(from).chunk(2, -1);
  const Tensor cos = at.cos.unsqueeze(1), sin = sign * at.sin.unsqueeze(1);  // [rows, 1, e/2]
  to.copy_(torch::cat({halves[0] * cos - halves[1] * sin, halves[1] * cos + halves[0] * sin}, -1));
}

}  // namespace mplus::train
