// The kernels of fused_kernels.cu and vote_kernels.cu, and torch's for a GPU, over tensors.
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/csrc/autograd/custom_function.h>

#include "mplus/train/gpu/fused_kernels.h"
#include "mplus/train/gpu/gpu.h"
#include "mplus/train/gpu/vote_kernels.h"

namespace mplus::train::gpu {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

const cuda::bf16* in(const Tensor& x) { return static_cast<const cuda::bf16*>(x.const_data_ptr()); }
cuda::bf16* out(const Tensor& x) { return static_cast<cuda::bf16*>(x.mutable_data_ptr()); }
cudaStream_t stream_of(const Tensor& x) {
  return c10::cuda::getCurrentCUDAStream(x.device().index()).stream();
}

bool is_bf16(const Tensor& x) { return x.is_cuda() && x.scalar_type() == torch::kBFloat16; }

// Heads of a row lie side by side.
bool heads_together(const Tensor& x) { return x.stride(3) == 1 && x.stride(2) == x.size(3); }

struct AskedScores : Function<AskedScores> {
  static Tensor forward(AutogradContext* context, const Tensor& queries, const Tensor& weights,
                        const Tensor& keys) {
    const Tensor q = queries.contiguous(), w = weights.contiguous(), k = keys.contiguous();
    Tensor scores = torch::empty({q.size(0), k.size(0)}, q.options().dtype(torch::kFloat32));
    cuda::asked_scores(asked(q, w, k), scores.mutable_data_ptr<float>(), stream_of(q));
    context->save_for_backward({q, w, k});
    return scores;
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const Tensor &q = saved[0], &w = saved[1], &k = saved[2];
    const Tensor dscores = gradients[0].contiguous();
    const auto wide = q.options().dtype(torch::kFloat32);
    Tensor dq = torch::zeros(q.sizes(), wide), dk = torch::empty(k.sizes(), wide);
    cuda::asked_scores_backward(asked(q, w, k), dscores.const_data_ptr<float>(), dq.mutable_data_ptr<float>(),
                                dk.mutable_data_ptr<float>(), stream_of(q));
    return {dq.to(q.scalar_type()), Tensor(), dk.to(k.scalar_type())};
  }

 private:
  static cuda::AskedKeys asked(const Tensor& q, const Tensor& w, const Tensor& k) {
    return {in(q), w.const_data_ptr<float>(), in(k), q.size(0), static_cast<int>(q.size(1)), k.size(0)};
  }
};

struct BestMean : Function<BestMean> {
  static Tensor forward(AutogradContext* context, const Tensor& scores, std::int64_t top) {
    const Tensor x = scores.contiguous();
    const std::int64_t width = x.size(-1), rows = x.numel() / width;
    Tensor mean = torch::empty(x.sizes().slice(0, static_cast<std::size_t>(x.dim()) - 1), x.options());
    Tensor chosen = torch::empty(x.sizes(), x.options().dtype(torch::kUInt8));
    cuda::best_mean({rows, static_cast<int>(width), static_cast<int>(top)}, x.const_data_ptr<float>(),
                    mean.mutable_data_ptr<float>(), chosen.mutable_data_ptr<std::uint8_t>(), stream_of(x));
    context->save_for_backward({chosen});
    context->saved_data["top"] = top;
    return mean;
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const Tensor chosen = context->get_saved_variables()[0];
    const Tensor dmean = gradients[0].contiguous();
    const std::int64_t width = chosen.size(-1);
    Tensor dx = torch::empty(chosen.sizes(), dmean.options());
    const int top = static_cast<int>(context->saved_data["top"].toInt());
    cuda::best_mean_backward({dmean.numel(), static_cast<int>(width), top}, dmean.const_data_ptr<float>(),
                             chosen.const_data_ptr<std::uint8_t>(), dx.mutable_data_ptr<float>(),
                             stream_of(dmean));
    return {dx, Tensor()};
  }
};

}  // namespace

bool normalises(const Tensor& x) { return is_bf16(x) && x.size(-1) % 2 == 0; }
bool gates(const Tensor& gate_up) {
  return is_bf16(gate_up) && gate_up.is_contiguous() && gate_up.size(-1) % 4 == 0;
}
bool rotates(const Tensor& from, const Tensor& to) { return is_bf16(from) && heads_together(to); }
bool attends(const Tensor& q) { return is_bf16(q); }
bool scores(const Tensor& queries) {
  return is_bf16(queries) && queries.size(2) == cuda::kScoreWidth && queries.size(1) <= cuda::kScoreTokens;
}
bool averages(const Tensor& scores) {
  constexpr std::int64_t kWidest = 128;
  return scores.is_cuda() && scores.scalar_type() == torch::kFloat32 && scores.size(-1) <= kWidest;
}

Normed normalise(const Tensor& x, const Tensor& weight, float epsilon) {
  const Tensor from = x.contiguous();
  const std::int64_t d = x.size(-1), rows = from.numel() / d;
  Normed normed{torch::empty_like(from), torch::empty({rows}, from.options().dtype(torch::kFloat32))};
  cuda::rms_norm({in(from), weight.const_data_ptr<float>(), rows, static_cast<int>(d)}, epsilon,
                 out(normed.y), normed.inverse.mutable_data_ptr<float>(), stream_of(x));
  return normed;
}

Tensor normalise_back(const Tensor& dy, const Tensor& x, const Tensor& weight, const Tensor& inverse,
                      const Tensor& plus) {
  const std::int64_t d = x.size(-1);
  const Tensor from = x.contiguous(), back = dy.contiguous();
  const Tensor other = plus.defined() ? plus.contiguous() : plus;
  Tensor dx = torch::empty_like(from);
  cuda::rms_norm_backward({in(from), weight.const_data_ptr<float>(), from.numel() / d, static_cast<int>(d)},
                          inverse.const_data_ptr<float>(), in(back), other.defined() ? in(other) : nullptr,
                          out(dx), stream_of(x));
  return dx;
}

Tensor swiglu(const Tensor& gate_up) {
  std::vector<std::int64_t> shape = gate_up.sizes().vec();
  const std::int64_t rows = gate_up.numel() / shape.back(), width = shape.back() /= 2;
  Tensor y = torch::empty(shape, gate_up.options());
  cuda::swiglu(in(gate_up), out(y), rows, static_cast<int>(width), stream_of(gate_up));
  return y;
}

Tensor swiglu_back(const Tensor& dy, const Tensor& gate_up) {
  const Tensor back = dy.contiguous();
  Tensor dx = torch::empty_like(gate_up);
  const std::int64_t width = back.size(-1);
  cuda::swiglu_backward(in(back), in(gate_up), out(dx), back.numel() / width, static_cast<int>(width),
                        stream_of(back));
  return dx;
}

void rotate_into(const Tensor& from, const Tensor& to, const Rotation& at, Rotate way) {
  const Tensor x = heads_together(from) ? from : from.contiguous();
  cuda::rotate(
      {in(x), x.stride(0), x.stride(1), out(to), to.stride(0), to.stride(1)},
      {at.cos.const_data_ptr<float>(), at.sin.const_data_ptr<float>(), way == Rotate::forward ? 1.0f : -1.0f},
      {x.size(0), x.size(1), static_cast<int>(x.size(2)), static_cast<int>(x.size(3))}, stream_of(x));
}

// Aligned to the end, and heads shared.
Attention attend(const Tensor& q, const Tensor& k, const Tensor& v) {
  auto [out, sums, starts_q, starts_k, most_q, most_k, seed, offset, mask] =
      at::_scaled_dot_product_flash_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), 0.0,
                                              /*is_causal=*/true);
  return {out.transpose(1, 2), {sums, seed, offset}};
}

AttentionGradients attend_back(const Tensor& dout, const Tensor& q, const Tensor& k, const Tensor& v,
                               const Attention& attention) {
  const std::vector<Tensor>& kept = attention.for_backward;
  const auto [dq, dk, dv] = at::_scaled_dot_product_flash_attention_backward(
      dout.transpose(1, 2), q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2),
      attention.out.transpose(1, 2), kept[0], Tensor(), Tensor(), q.size(1), k.size(1), 0.0,
      /*is_causal=*/true, kept[1], kept[2]);
  return {dq.transpose(1, 2), dk.transpose(1, 2), dv.transpose(1, 2)};
}

Tensor asked_scores(const Tensor& queries, const Tensor& weights, const Tensor& keys) {
  return AskedScores::apply(queries, weights, keys);
}

Tensor best_mean(const Tensor& scores, std::int64_t top) { return BestMean::apply(scores, top); }

void use(torch::Device device) { c10::cuda::set_device(device.index()); }

std::string product(torch::Device device) { return at::cuda::getDeviceProperties(device.index())->name; }

double peak_gigabytes(torch::Device device) {
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(device.index());
  return static_cast<double>(stats.reserved_bytes[0].peak) / 1e9;
}

}  // namespace mplus::train::gpu
