#include "mplus/cli/bench/machine.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "mplus/kernels/backend.h"
#include "mplus/kernels/linear/linear.h"
#include "mplus/kernels/rows/rows.h"

namespace mplus::cli {
namespace {

constexpr std::size_t kReadWords = std::size_t{32} << 20;  // 256 MB: more than any last-level cache share
constexpr int kRuns = 5;

double size_of(const Matrix& m) {
  return m.empty() ? 0.0 : static_cast<double>(m.rows) * static_cast<double>(m.row_size_bytes());
}
double flop_of(const Matrix& m) { return m.empty() ? 0.0 : 2.0 * static_cast<double>(m.rows * m.cols); }

// Of a device's own memory: a copy reads every byte and writes it.
double copied_bytes_per_second(kernels::Queue& queue) {
  constexpr std::int64_t kFloats = std::int64_t{1} << 28;
  const Buffer from = queue.backend().allocate(row_bytes(DType::f32, kFloats)),
               to = queue.backend().allocate(row_bytes(DType::f32, kFloats));
  const Tensor in = from.tensor(DType::f32, {kFloats}), out = to.tensor(DType::f32, {kFloats});
  kernels::fill(queue, in, 1.0f);
  queue.wait();
  double best = 0;
  for (int run = 0; run < kRuns; ++run) {
    const double seconds = seconds_of([&] {
      kernels::copy(queue, out, in);
      queue.wait();
    });
    best = std::max(best, 2.0 * static_cast<double>(kFloats * sizeof(float)) / seconds);
  }
  return best;
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return {
      .median = (values[(n - 1) / 2] + values[n / 2]) / 2, .least = values.front(), .most = values.back()};
}

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double read_bytes_per_second(kernels::Queue& queue) {
  if (!queue.device().is_cpu()) return copied_bytes_per_second(queue);
  ThreadPool& pool = queue.pool();
  const AlignedVector<std::uint64_t> words(kReadWords, 1);
  constexpr std::int64_t kBlocks = 256;
  constexpr std::size_t kBlock = kReadWords / kBlocks;
  std::atomic<std::uint64_t> sum{0};  // so that the reading cannot be left out
  double best = 0;
  for (int run = 0; run < kRuns; ++run) {
    const double seconds = seconds_of([&] {
      pool.run(kBlocks, [&](std::int64_t block, int) {
        const std::uint64_t* at = words.data() + static_cast<std::size_t>(block) * kBlock;
        std::uint64_t own = 0;
        for (std::size_t i = 0; i < kBlock; ++i) own += at[i];
        sum += own;
      });
    });
    best = std::max(best, static_cast<double>(kReadWords * sizeof(std::uint64_t)) / seconds);
  }
  return sum.load() > 0 ? best : 0;
}

double gemm_flops(engine::Engine& engine, std::int64_t rows) {
  kernels::Queue& queue = engine.queue();
  const Matrix& w = engine.workspace().weights().layers.front().gate.base;
  const Buffer in = queue.backend().allocate(row_bytes(DType::f32, rows * w.cols)),
               to = queue.backend().allocate(row_bytes(DType::f32, rows * w.rows));
  const Tensor x = in.tensor(DType::f32, {rows, w.cols}), out = to.tensor(DType::f32, {rows, w.rows});
  const auto product = [&] {
    kernels::linear(queue, out, x, w, {.rows = kernels::Rows::batched});
    queue.wait();
  };
  kernels::fill(queue, x, 0.5f);
  product();  // buffers are made, pages touched
  double best = 0;
  for (int run = 0; run < kRuns; ++run)
    best = std::max(best, flop_of(w) * static_cast<double>(rows) / seconds_of(product));
  return best;
}

ModelCost model_cost(const model::Weights& weights) {
  ModelCost cost;
  const auto add = [&](const Matrix& m) {
    cost.weight_bytes += size_of(m);
    cost.read_flop += flop_of(m);
  };
  for (const model::Layer& layer : weights.layers) {
    add(layer.o);
    for (const auto* p : {&layer.q, &layer.k, &layer.v, &layer.gate, &layer.up, &layer.down}) {
      add(p->base);
      add(p->read.a);
      add(p->read.b);
    }
  }
  cost.weight_bytes += size_of(weights.head);
  return cost;
}

}  // namespace mplus::cli
