#include "mplus/train/fused.h"

#ifdef MPLUS_TRAIN_CUDA
#include <c10/cuda/CUDAStream.h>
#include <torch/csrc/autograd/custom_function.h>

#include "fused_kernels.h"
#endif

namespace mplus::train {
namespace {

#ifdef MPLUS_TRAIN_CUDA

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

const cuda::bf16* in(const Tensor& x) { return static_cast<const cuda::bf16*>(x.const_data_ptr()); }
cuda::bf16* out(Tensor& x) { return static_cast<cuda::bf16*>(x.mutable_data_ptr()); }
cudaStream_t stream_of(const Tensor& x) {
  return c10::cuda::getCurrentCUDAStream(x.device().index()).stream();
}

bool on_gpu(const Tensor& x) { return x.is_cuda() && x.scalar_type() == torch::kBFloat16; }

struct RmsNorm : Function<RmsNorm> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight, double epsilon) {
    const Tensor from = x.contiguous();
    const std::int64_t d = from.size(-1), rows = from.numel() / d;
    Tensor y = torch::empty_like(from);
    Tensor inverse = torch::empty({rows}, from.options().dtype(torch::kFloat32));
    cuda::rms_norm(in(from), weight.const_data_ptr<float>(), out(y), inverse.mutable_data_ptr<float>(), rows,
                   static_cast<int>(d), static_cast<float>(epsilon), stream_of(x));
    context->save_for_backward({from, weight, inverse});
    return y;
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const Tensor dy = gradients[0].contiguous();
    const std::int64_t d = dy.size(-1);
    Tensor dx = torch::empty_like(dy);
    cuda::rms_norm_backward(in(dy), in(saved[0]), saved[1].const_data_ptr<float>(),
                            saved[2].const_data_ptr<float>(), out(dx), dy.numel() / d, static_cast<int>(d),
                            stream_of(dy));
    return {dx, Tensor(), Tensor()};
  }
};

struct Swiglu : Function<Swiglu> {
  static Tensor forward(AutogradContext* context, const Tensor& gate_up) {
    const Tensor from = gate_up.contiguous();
    std::vector<std::int64_t> shape = from.sizes().vec();
    const std::int64_t rows = from.numel() / shape.back(), width = shape.back() /= 2;
    Tensor y = torch::empty(shape, from.options());
    cuda::swiglu(in(from), out(y), rows, static_cast<int>(width), stream_of(from));
    context->save_for_backward({from});
    return y;
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const Tensor from = context->get_saved_variables()[0];
    const Tensor dy = gradients[0].contiguous();
    Tensor back = torch::empty_like(from);
    const std::int64_t width = dy.size(-1);
    cuda::swiglu_backward(in(dy), in(from), out(back), dy.numel() / width, static_cast<int>(width),
                          stream_of(dy));
    return {back};
  }
};

// Rows of x [B, rows, heads, e] lie one stride apart, as in a slice of a projection's output.
bool evenly_strided(const Tensor& x) {
  return x.stride(3) == 1 && x.stride(2) == x.size(3) && x.stride(0) == x.size(1) * x.stride(1);
}

Tensor turned(const Tensor& x, const Tensor& cos, const Tensor& sin, float sign) {
  const Tensor from = evenly_strided(x) ? x : x.contiguous();
  Tensor y = torch::empty(from.sizes(), from.options());
  cuda::rotate(in(from), from.stride(1), out(y), y.stride(1), cos.const_data_ptr<float>(),
               sin.const_data_ptr<float>(), sign, from.size(0) * from.size(1), from.size(1),
               static_cast<int>(from.size(2)), static_cast<int>(from.size(3)), stream_of(x));
  return y;
}

struct Rotate : Function<Rotate> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& cos, const Tensor& sin) {
    context->save_for_backward({cos, sin});
    return turned(x, cos, sin, 1);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    return {turned(gradients[0], saved[0], saved[1], -1), Tensor(), Tensor()};
  }
};

#endif

}  // namespace

Tensor rms_norm(const Tensor& x, const Tensor& weight, float epsilon) {
#ifdef MPLUS_TRAIN_CUDA
  if (on_gpu(x) && !weight.requires_grad() && x.size(-1) % 2 == 0)
    return RmsNorm::apply(x, weight.contiguous(), static_cast<double>(epsilon));
#endif
  const Tensor wide = x.to(at_least_float(x.scalar_type()));
  const Tensor scale = torch::rsqrt(wide.square().mean(-1, true) + static_cast<double>(epsilon));
  return (wide * scale * weight).to(x.scalar_type());
}

Tensor rotate(const Tensor& x, const Rotation& at) {
#ifdef MPLUS_TRAIN_CUDA
  if (on_gpu(x)) return Rotate::apply(x, at.cos, at.sin);
#endif
  const auto halves = x.to(at_least_float(x.scalar_type())).chunk(2, -1);
  const Tensor cos = at.cos.unsqueeze(1), sin = at.sin.unsqueeze(1);  // [rows, 1, e/2]
  return torch::cat({halves[0] * cos - halves[1] * sin, halves[1] * cos + halves[0] * sin}, -1)
      .to(x.scalar_type());
}

Tensor swiglu(const Tensor& gate_up) {
#ifdef MPLUS_TRAIN_CUDA
  if (on_gpu(gate_up) && gate_up.size(-1) % 4 == 0) return Swiglu::apply(gate_up);
#endif
  const auto halves = gate_up.chunk(2, -1);
  return torch::silu(halves[0]) * halves[1];
}

}  // namespace mplus::train
