// What a GPU computes in bfloat16 (own kernels, flash attention) against the same in double on the CPU:
// values and gradients. Skipped, aloud, where there is no GPU.
#include <gtest/gtest.h>
#include <unistd.h>

#include "mplus/train/model/layers/decoder_layer.h"
#include "mplus/train/model/small_rows.h"
#include "mplus/train/processes/processes.h"
#include "mplus/train/retriever/vote_scores.h"

namespace mplus::train {
namespace {

constexpr double kHalfStep = 1.0 / 256;  // of bfloat16, relative

bool has_gpu() { return torch::globalContext().hasCUDA(); }
#define NEEDS_GPU() \
  if (!has_gpu()) GTEST_SKIP() << "no GPU that torch can use"

torch::TensorOptions on_gpu() { return torch::TensorOptions(torch::kCUDA).dtype(torch::kBFloat16); }
Tensor wide(const Tensor& x) { return x.detach().to(torch::kCPU, torch::kFloat64); }

// |found − expected| ≤ bound · (|expected| + the root mean square of all), everywhere.
void expect_close(const Tensor& found, const Tensor& expected, double bound, const char* what) {
  ASSERT_EQ(found.sizes(), expected.sizes()) << what;
  const Tensor allowed = bound * (expected.abs() + expected.square().mean().sqrt());
  const double worst = ((wide(found) - expected).abs() / allowed).max().item<double>();
  EXPECT_LE(worst, 1) << what;
}

// One operation of some tensors: the result and the gradient of every tensor, for a fixed gradient of the
// result.
template <class F>
void compare(const std::vector<Tensor>& inputs, double bound, const F& f) {
  std::vector<Tensor> gpu, cpu;
  for (const Tensor& x : inputs) {
    gpu.push_back(x.detach().clone().requires_grad_());
    cpu.push_back(wide(x).requires_grad_());
  }
  const Tensor y = f(gpu), reference = f(cpu);
  expect_close(y, reference.detach(), bound, "values");
  const Tensor back = torch::randn(y.sizes(), on_gpu());
  y.backward(back.to(y.scalar_type()));
  reference.backward(wide(back));
  for (std::size_t i = 0; i < inputs.size(); ++i)
    expect_close(gpu[i].grad(), cpu[i].grad(), 2 * bound, "gradients");
}

TEST(TrainGpu, RmsNorm) {
  NEEDS_GPU();
  torch::manual_seed(1);
  for (const std::int64_t d : {2, 64, 576, 4096}) {
    const Tensor weight = torch::rand({d}, torch::kCUDA) + 0.5;
    compare({torch::randn({3, 5, d}, on_gpu())}, kHalfStep, [&](const std::vector<Tensor>& x) {
      return rms_norm(x[0], weight.to(x[0].device(), at_least_float(x[0].scalar_type())), 1e-5f);
    });
  }
}

// Not close: the same bits, which small_rows_test.cpp holds to core's.
TEST(TrainGpu, SmallRows) {
  NEEDS_GPU();
  torch::manual_seed(2);
  for (const std::int64_t n : {5, 64, 192, 200})
    for (const double size : {1.0, 1e-30, 1e30}) {
      const Tensor rows = size * torch::randn({500, n});
      for (const RowFormat format : {RowFormat::int8, RowFormat::int4})
        EXPECT_TRUE(torch::equal(through_small_vectors(rows.to(torch::kCUDA), format).to(torch::kCPU),
                                 through_small_vectors(rows, format)))
            << n << " " << size;
      const SmallKeys gpu = small_keys(rows.to(torch::kCUDA)), cpu = small_keys(rows);
      EXPECT_TRUE(torch::equal(gpu.codes.to(torch::kCPU), cpu.codes));
      EXPECT_TRUE(torch::equal(gpu.scales.to(torch::kCPU), cpu.scales));
    }
}

TEST(TrainGpu, Swiglu) {
  NEEDS_GPU();
  torch::manual_seed(2);
  const Tensor x = 3 * torch::randn({7, 11, 2 * 96}, on_gpu()), dy = torch::randn({7, 11, 96}, on_gpu());
  expect_close(swiglu(x), swiglu(wide(x)), 2 * kHalfStep, "values");
  expect_close(swiglu_back(dy, x), swiglu_back(wide(dy), wide(x)), 4 * kHalfStep, "gradients");
}

TEST(TrainGpu, RotationBetweenPartsOfTensors) {
  NEEDS_GPU();
  torch::manual_seed(3);
  const Tensor cos = torch::rand({6, 4}, torch::kCUDA), sin = torch::rand({6, 4}, torch::kCUDA);
  const Tensor x = torch::randn({2, 6, 5 * 8}, on_gpu()), y = torch::zeros({2, 9, 3, 8}, on_gpu());
  const Tensor cpu_x = wide(x), cpu_y = wide(y);
  for (const Rotate way : {Rotate::forward, Rotate::back}) {
    rotate_into(x.narrow(-1, 8, 3 * 8).unflatten(-1, {3, 8}), y.narrow(1, 2, 6), {cos, sin}, way);
    rotate_into(cpu_x.narrow(-1, 8, 3 * 8).unflatten(-1, {3, 8}), cpu_y.narrow(1, 2, 6),
                {wide(cos), wide(sin)}, way);
    expect_close(y, cpu_y, kHalfStep, "values");
  }
}

TEST(TrainGpu, DecoderLayerOverAPrefix) {
  NEEDS_GPU();
  torch::manual_seed(4);
  const io::ModelConfig config{.architecture = "llama",
                               .layers = 1,
                               .hidden = 192,
                               .heads = 6,
                               .kv_heads = 2,
                               .head_size = 32,
                               .ffn = 256,
                               .vocab = 16,
                               .context = 256,
                               .norm_epsilon = 1e-5f,
                               .rope_theta = 100,
                               .rope_scaling = {},
                               .tied_embeddings = true,
                               .eos_ids = {},
                               .bos_id = {}};
  const auto matrix = [](std::int64_t rows, std::int64_t cols) {
    return torch::randn({rows, cols}, on_gpu()) / std::sqrt(static_cast<double>(cols));
  };
  // Ten rows behind five hidden states and 16 rows that are projected already; both outputs are used.
  const std::vector<Tensor> tensors = {torch::randn({3, 10, 192}, on_gpu()),
                                       torch::randn({3, 5, 192}, on_gpu()),
                                       torch::randn({3, 16, 2, 32}, on_gpu()),
                                       torch::randn({3, 16, 2, 32}, on_gpu()),
                                       matrix(10 * 32, 192),
                                       matrix(192, 192),
                                       matrix(2 * 256, 192),
                                       matrix(192, 256)};
  compare(tensors, 8 * kHalfStep, [&](const std::vector<Tensor>& t) {
    const Tensor norm =
        torch::ones({192}, torch::TensorOptions(t[0].device()).dtype(at_least_float(t[0].scalar_type())));
    LayerWeights w;
    w.attention_norm = w.mlp_norm = norm;
    w.qkv = t[4], w.o = t[5], w.gate_up = t[6], w.down = t[7];
    RopeTable rope(config, t[0].scalar_type(), t[0].device());
    const LayerOutput out = decoder_layer(w, config, t[0], {.hidden = t[1], .known = {t[2], t[3]}}, rope, 4);
    return torch::cat({out.y, out.last}, 1);
  });
}

// Questions of different lengths, some tokens of which ask for nothing, and rows that fill no whole tile.
TEST(TrainGpu, AskedScores) {
  NEEDS_GPU();
  torch::manual_seed(5);
  for (const std::int64_t T : {1, 24, 64}) {
    Tensor weights = torch::rand({5, T}, torch::kCUDA);
    weights.narrow(1, T / 2, T - T / 2).mul_(torch::arange(5, torch::kCUDA).remainder(2).unsqueeze(1));
    compare({0.4 * torch::randn({5, T, 64}, on_gpu()), torch::randn({1100, 64}, on_gpu())}, 2 * kHalfStep,
            [&](const std::vector<Tensor>& x) {
              return asked_scores(x[0], weights.to(x[0].device(), at_least_float(x[0].scalar_type())), x[1]);
            });
  }
}

TEST(TrainGpu, BestMean) {
  NEEDS_GPU();
  torch::manual_seed(6);
  for (const auto& [width, top] : {std::pair<std::int64_t, std::int64_t>{128, 16}, {100, 1}, {32, 31}}) {
    // Numbers that differ, so that both choose the same ones.
    const Tensor x =
        torch::randperm(3 * 7 * width, torch::kCUDA).view({3, 7, width}).to(torch::kFloat32) / 64;
    const Tensor gpu = x.clone().requires_grad_(), cpu = wide(x).requires_grad_();
    const Tensor y = best_mean(gpu, top), reference = best_mean(cpu, top);
    expect_close(y, reference.detach(), 1e-6, "values");
    const Tensor back = torch::randn(y.sizes(), torch::kCUDA);
    y.backward(back);
    reference.backward(wide(back));
    expect_close(gpu.grad(), cpu.grad(), 1e-6, "gradients");
  }
}

// NCCL wants a GPU for each process: with one, a company of one. Its calls are real, what they add up is not
// much.
TEST(TrainGpu, ACompanyOfOneOverNccl) {
  NEEDS_GPU();
  const ProcessPlace place{.share = {},
                           .on_machine = 0,
                           .address = "127.0.0.1",
                           .port = static_cast<std::uint16_t>(20000 + getpid() % 20000)};
  Processes processes(place, torch::Device(torch::kCUDA, 0), 60);
  const Tensor row = torch::arange(7, torch::TensorOptions(torch::kCUDA).dtype(torch::kFloat32));
  const Tensor sum = row.clone();
  processes.sum(sum);
  EXPECT_TRUE(torch::equal(sum, row));
  EXPECT_TRUE(torch::equal(processes.sum_of_rows(row.unsqueeze(0)), row));
  EXPECT_TRUE(torch::equal(processes.rows_of_all(row), row.unsqueeze(0)));
  EXPECT_TRUE(processes.any(true));
  EXPECT_TRUE(processes.all_equal("the same recipe"));
  processes.wait_for_all();
}

}  // namespace
}  // namespace mplus::train
