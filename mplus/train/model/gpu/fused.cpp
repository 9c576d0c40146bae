#include "mplus/train/model/gpu/fused.h"

#include <torch/csrc/autograd/custom_function.h>

#ifdef MPLUS_TRAIN_CUDA
#include <c10/cuda/CUDAStream.h>

#include "mplus/train/model/gpu/fused_kernels.h"
#endif

namespace mplus::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

Tensor widened(const Tensor& x) { return x.to(at_least_float(x.scalar_type())); }

#ifdef MPLUS_TRAIN_CUDA

const cuda::bf16* in(const Tensor& x) { return static_cast<const cuda::bf16*>(x.const_data_ptr()); }
cuda::bf16* out(const Tensor& x) { return static_cast<cuda::bf16*>(x.mutable_data_ptr()); }
cudaStream_t stream_of(const Tensor& x) {
  return c10::cuda::getCurrentCUDAStream(x.device().index()).stream();
}

bool on_gpu(const Tensor& x) { return x.is_cuda() && x.scalar_type() == torch::kBFloat16; }

// Heads of a row lie side by side.
bool heads_together(const Tensor& x) { return x.stride(3) == 1 && x.stride(2) == x.size(3); }

#endif

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
#ifdef MPLUS_TRAIN_CUDA
  if (const std::int64_t d = x.size(-1); on_gpu(x) && d % 2 == 0) {
    const Tensor from = x.contiguous();
    const std::int64_t rows = from.numel() / d;
    Normed normed{torch::empty_like(from), torch::empty({rows}, from.options().dtype(torch::kFloat32))};
    cuda::rms_norm(in(from), weight.const_data_ptr<float>(), out(normed.y),
                   normed.inverse.mutable_data_ptr<float>(), rows, static_cast<int>(d), epsilon,
                   stream_of(x));
    return normed;
  }
#endif
  const Tensor wide = widened(x);
  const Tensor scale = torch::rsqrt(wide.square().mean(-1, true) + static_cast<double>(epsilon));
  return {(wide * scale * weight).to(x.scalar_type()), scale.flatten()};
}

Tensor normalise_back(const Tensor& dy, const Tensor& x, const Tensor& weight, const Tensor& inverse,
                      const Tensor& plus) {
#ifdef MPLUS_TRAIN_CUDA
  if (const std::int64_t d = x.size(-1); on_gpu(x) && d % 2 == 0) {
    const Tensor from = x.contiguous(), back = dy.contiguous();
    const Tensor other = plus.defined() ? plus.contiguous() : plus;
    Tensor dx = torch::empty_like(from);
    cuda::rms_norm_backward(in(back), in(from), weight.const_data_ptr<float>(),
                            inverse.const_data_ptr<float>(), other.defined() ? in(other) : nullptr, out(dx),
                            from.numel() / d, static_cast<int>(d), stream_of(x));
    return dx;
  }
#endif
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
#ifdef MPLUS_TRAIN_CUDA
  if (on_gpu(gate_up) && gate_up.is_contiguous() && gate_up.size(-1) % 4 == 0) {
    std::vector<std::int64_t> shape = gate_up.sizes().vec();
    const std::int64_t rows = gate_up.numel() / shape.back(), width = shape.back() /= 2;
    Tensor y = torch::empty(shape, gate_up.options());
    cuda::swiglu(in(gate_up), out(y), rows, static_cast<int>(width), stream_of(gate_up));
    return y;
  }
#endif
  const auto halves = gate_up.chunk(2, -1);
  return torch::silu(halves[0]) * halves[1];
}

Tensor swiglu_back(const Tensor& dy, const Tensor& gate_up) {
#ifdef MPLUS_TRAIN_CUDA
  if (on_gpu(gate_up) && gate_up.is_contiguous() && gate_up.size(-1) % 4 == 0) {
    const Tensor back = dy.contiguous();
    Tensor dx = torch::empty_like(gate_up);
    const std::int64_t width = back.size(-1);
    cuda::swiglu_backward(in(back), in(gate_up), out(dx), back.numel() / width, static_cast<int>(width),
                          stream_of(back));
    return dx;
  }
#endif
  const auto halves = gate_up.chunk(2, -1);
  const Tensor sigmoid = torch::sigmoid(halves[0]), silu = halves[0] * sigmoid;
  return torch::cat({dy * halves[1] * sigmoid * (1 + halves[0] * (1 - sigmoid)), dy * silu}, -1);
}

void rotate_into(const Tensor& from, const Tensor& to, const Rotation& at, Turn turn) {
  const float sign = turn == Turn::there ? 1 : -1;
#ifdef MPLUS_TRAIN_CUDA
  if (on_gpu(from) && heads_together(to)) {
    const Tensor x = heads_together(from) ? from : from.contiguous();
    cuda::rotate(in(x), x.stride(0), x.stride(1), out(to), to.stride(0), to.stride(1),
                 at.cos.const_data_ptr<float>(), at.sin.const_data_ptr<float>(), sign, x.size(0), x.size(1),
                 static_cast<int>(x.size(2)), static_cast<int>(x.size(3)), stream_of(x));
    return;
  }
#endif
  const auto halves = widened(from).chunk(2, -1);
  const Tensor cos = at.cos.unsqueeze(1), sin = sign * at.sin.unsqueeze(1);  // [rows, 1, e/2]
  to.copy_(torch::cat({halves[0] * cos - halves[1] * sin, halves[1] * cos + halves[0] * sin}, -1));
}

}  // namespace mplus::train
