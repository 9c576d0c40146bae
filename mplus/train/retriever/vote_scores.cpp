#include "mplus/train/retriever/vote_scores.h"

#include "mplus/train/model/rope.h"

#ifdef MPLUS_TRAIN_CUDA
#include <c10/cuda/CUDAStream.h>

#include "mplus/train/retriever/vote_kernels.h"
#endif

#include <torch/csrc/autograd/custom_function.h>

namespace mplus::train {
namespace {

#ifdef MPLUS_TRAIN_CUDA

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

const cuda::bf16* in(const Tensor& x) { return static_cast<const cuda::bf16*>(x.const_data_ptr()); }
cudaStream_t stream_of(const Tensor& x) {
  return c10::cuda::getCurrentCUDAStream(x.device().index()).stream();
}

struct AskedScores : Function<AskedScores> {
  static Tensor forward(AutogradContext* context, const Tensor& queries, const Tensor& weights,
                        const Tensor& keys) {
    const Tensor q = queries.contiguous(), w = weights.contiguous(), k = keys.contiguous();
    Tensor scores = torch::empty({q.size(0), k.size(0)}, q.options().dtype(torch::kFloat32));
    cuda::asked_scores(in(q), w.const_data_ptr<float>(), in(k), scores.mutable_data_ptr<float>(), q.size(0),
                       static_cast<int>(q.size(1)), k.size(0), stream_of(q));
    context->save_for_backward({q, w, k});
    return scores;
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const Tensor &q = saved[0], &w = saved[1], &k = saved[2];
    const Tensor dscores = gradients[0].contiguous();
    const auto wide = q.options().dtype(torch::kFloat32);
    Tensor dq = torch::zeros(q.sizes(), wide), dk = torch::empty(k.sizes(), wide);
    cuda::asked_scores_backward(dscores.const_data_ptr<float>(), in(q), w.const_data_ptr<float>(), in(k),
                                dq.mutable_data_ptr<float>(), dk.mutable_data_ptr<float>(), q.size(0),
                                static_cast<int>(q.size(1)), k.size(0), stream_of(q));
    return {dq.to(q.scalar_type()), Tensor(), dk.to(k.scalar_type())};
  }
};

struct BestMean : Function<BestMean> {
  static Tensor forward(AutogradContext* context, const Tensor& scores, std::int64_t top) {
    const Tensor x = scores.contiguous();
    const std::int64_t width = x.size(-1), rows = x.numel() / width;
    Tensor mean = torch::empty(x.sizes().slice(0, static_cast<std::size_t>(x.dim()) - 1), x.options());
    Tensor chosen = torch::empty(x.sizes(), x.options().dtype(torch::kUInt8));
    cuda::best_mean(x.const_data_ptr<float>(), mean.mutable_data_ptr<float>(),
                    chosen.mutable_data_ptr<std::uint8_t>(), rows, static_cast<int>(width),
                    static_cast<int>(top), stream_of(x));
    context->save_for_backward({chosen});
    context->saved_data["top"] = top;
    return mean;
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const Tensor chosen = context->get_saved_variables()[0];
    const Tensor dmean = gradients[0].contiguous();
    const std::int64_t width = chosen.size(-1);
    Tensor dx = torch::empty(chosen.sizes(), dmean.options());
    cuda::best_mean_backward(dmean.const_data_ptr<float>(), chosen.const_data_ptr<std::uint8_t>(),
                             dx.mutable_data_ptr<float>(), dmean.numel(), static_cast<int>(width),
                             static_cast<int>(context->saved_data["top"].toInt()), stream_of(dmean));
    return {dx, Tensor()};
  }
};

#endif

}  // namespace

Tensor asked_scores(const Tensor& queries, const Tensor& weights, const Tensor& keys) {
#ifdef MPLUS_TRAIN_CUDA
  if (queries.is_cuda() && queries.scalar_type() == torch::kBFloat16 &&
      queries.size(2) == cuda::kScoreWidth && queries.size(1) <= cuda::kScoreTokens)
    return AskedScores::apply(queries, weights, keys);
#endif
  const std::int64_t n = queries.size(0), T = queries.size(1), rows = keys.size(0);
  // In float32 from here on: scores of different chunks differ by less than bfloat16 can tell.
  const Tensor products = torch::linear(queries.flatten(0, 1), keys);
  const Tensor near = torch::sigmoid(products.to(at_least_float(products.scalar_type())));
  return torch::bmm(weights.to(near.scalar_type()).unsqueeze(1), near.view({n, T, rows})).squeeze(1);
}

Tensor best_mean(const Tensor& scores, std::int64_t top) {
  if (top <= 0 || top >= scores.size(-1)) return scores.mean(-1);
#ifdef MPLUS_TRAIN_CUDA
  constexpr std::int64_t kWidest = 128;
  if (scores.is_cuda() && scores.scalar_type() == torch::kFloat32 && scores.size(-1) <= kWidest)
    return BestMean::apply(scores, top);
#endif
  return std::get<0>(scores.topk(top, -1)).mean(-1);
}

}  // namespace mplus::train
