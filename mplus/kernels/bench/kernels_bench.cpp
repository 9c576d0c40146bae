// Speed of the operations at the default model's sizes (d 576, ff 1536, 9/3 heads of 64, vocabulary 49,152),
// as GFLOP/s (two per multiply-add) and GB/s of weights, keys and values read; `read` is their share of what
// the same threads read from 256 MB in a plain sum, `matrix` the share of the fastest product of these
// operations, 1,024 rows with a matrix of 1536 × 1536. Threads: MPLUS_BENCH_THREADS, otherwise all.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <vector>

#include "mplus/core/numbers/float16.h"
#include "mplus/core/tensors/buffer.h"
#include "mplus/kernels/backend.h"
#include "mplus/kernels/cpu/ops/operations.h"
#include "mplus/kernels/rows/convert.h"

namespace mplus::kernels {
namespace {

ThreadPool& pool() {
  static ThreadPool instance([] {
    const char* wanted = std::getenv("MPLUS_BENCH_THREADS");
    return wanted != nullptr ? std::atoi(wanted) : default_thread_count();
  }());
  return instance;
}

AlignedVector<float> ramp(std::int64_t n) {
  AlignedVector<float> v(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i)
    v[static_cast<std::size_t>(i)] = static_cast<float>(i * 2'654'435'761 % 1000) * 0.002f - 1.0f;
  return v;
}

// Integers of any value, scales of 1/1024: the arithmetic does not care. In pages as large as a model's.
class WeightBytes {
 public:
  WeightBytes(DType dtype, std::int64_t rows, std::int64_t cols)
      : buffer_(cpu_backend().allocate(static_cast<std::size_t>(rows) * row_bytes(dtype, cols))) {
    for (std::size_t i = 0; i < size(); ++i) data()[i] = static_cast<std::byte>((i * 37) & 0x33);
  }
  std::byte* data() const { return static_cast<std::byte*>(buffer_.tensor(DType::i8, {0}).data); }
  std::size_t size() const { return buffer_.size_bytes(); }

 private:
  Buffer buffer_;
};

constexpr int kPeakRuns = 5;

double seconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double read_peak() {
  const WeightBytes bytes(DType::i8, std::int64_t{1} << 20, 256);
  constexpr std::int64_t kBlocks = 256;
  const std::size_t words = bytes.size() / sizeof(std::uint64_t) / kBlocks;
  std::atomic<std::uint64_t> sum{0};  // so that the reading cannot be left out
  double best = 0;
  for (int run = 0; run < kPeakRuns; ++run)
    best = std::max(best, static_cast<double>(bytes.size()) / seconds_of([&] {
                            pool().run(kBlocks, [&](std::int64_t block, int) {
                              const auto* at = reinterpret_cast<const std::uint64_t*>(bytes.data()) +
                                               static_cast<std::size_t>(block) * words;
                              sum += std::accumulate(at, at + words, std::uint64_t{0});
                            });
                          }));
  return sum.load() > 0 ? best : 0;
}

double matrix_peak() {
  constexpr std::int64_t kRows = 1024, kSize = 1536;
  const WeightBytes bytes(DType::q8_0, kSize, kSize);
  const auto x = ramp(kRows * kSize);
  AlignedVector<float> out(x.size());
  Queue queue(pool(), Numerics::fast);
  const Matrix w{bytes.data(), DType::q8_0, kSize, kSize};
  double best = 0;
  for (int run = 0; run < kPeakRuns; ++run)
    best = std::max(best, 2.0 * kRows * kSize * kSize / seconds_of([&] {
                            cpu::linear(queue, out.data(), x.data(), kRows, w, {.rows = Rows::batched});
                          }));
  return best;
}

void rates(benchmark::State& state, double flops, double read_bytes) {
  static const double read = read_peak(), matrix = matrix_peak();
  const auto runs = static_cast<double>(state.iterations());
  const auto rate = [&](const char* name, double amount) {
    state.counters[name] = benchmark::Counter(amount * runs, benchmark::Counter::kIsRate);
  };
  rate("GFLOP/s", flops * 1e-9);
  rate("GB/s", read_bytes * 1e-9);
  rate("matrix", flops / matrix);
  rate("read", read_bytes / read);
}

// Enough copies of the weights that they come from memory, as in a model, where each layer has its own. The
// order of a model's weights is the one they are placed in.
void bench_linear(benchmark::State& state, DType dtype, Numerics numerics, Rows rows) {
  const std::int64_t T = state.range(0), inputs = state.range(1), outputs = state.range(2);
  const auto size = static_cast<std::int64_t>(row_bytes(dtype, inputs)) * outputs;
  const std::int64_t copies = T <= 16 ? std::max<std::int64_t>(1, 96'000'000 / size) : 1;
  const WeightBytes bytes(dtype, outputs * copies, inputs);
  const std::vector<float> scales(static_cast<std::size_t>(outputs), 0.01f);
  const auto x = ramp(T * inputs);
  AlignedVector<float> out(static_cast<std::size_t>(T * outputs));
  Queue queue(pool(), numerics);
  const bool arranged =
      cpu::arranged_bytes(numerics, {bytes.data(), dtype, outputs, inputs, scales.data()}) > 0 &&
      std::getenv("MPLUS_BENCH_FILE_ORDER") == nullptr;
  std::int64_t copy = 0;
  for ([[maybe_unused]] auto _ : state) {
    // Bytes of any order will do.
    const Matrix w{bytes.data() + copy * size, dtype, outputs, inputs, scales.data(), {}, arranged};
    cpu::linear(queue, out.data(), x.data(), T, w, {.rows = rows});
    benchmark::DoNotOptimize(out.data());
    copy = (copy + 1) % copies;
  }
  rates(state, 2.0 * static_cast<double>(T * inputs * outputs), static_cast<double>(size));
}

// Over caches of the type that the numerics has.
void bench_attend(benchmark::State& state, Numerics numerics) {
  const std::int64_t T = state.range(0), rows = state.range(1), layers = T == 1 ? 30 : 1;
  const KvShape shape{9, 3, 64};
  const std::int64_t layer = shape.groups * rows * shape.head_size;
  Queue queue(pool(), numerics);
  const DType type = queue.backend().cache_type(numerics);
  const auto all = ramp(layer * layers);
  const auto copied = [&] {
    Buffer copy = cpu_backend().allocate(row_bytes(type, std::ssize(all)));
    kernels::from_f32(copy.tensor(type, {std::ssize(all)}).data, type, all.data(), std::ssize(all));
    return copy;
  };
  const Buffer keys = copied(), values = copied();
  const auto q = ramp(T * shape.heads * shape.head_size);
  AlignedVector<float> out(q.size());
  std::int64_t at = 0;
  for ([[maybe_unused]] auto _ : state) {
    const auto part = [&](const Buffer& x) {
      return x.tensor(type, {layers * shape.groups, rows, shape.head_size})
          .part(0, at * shape.groups, shape.groups);
    };
    attend(queue, {out.data(), DType::f32, {T, shape.heads * shape.head_size}},
           {q.data(), DType::f32, {T, shape.heads * shape.head_size}}, {part(keys), part(values), rows},
           shape);
    benchmark::DoNotOptimize(out.data());
    at = (at + 1) % layers;
  }
  const std::int64_t pairs = T * (rows - T) + T * (T + 1) / 2;
  rates(state, 4.0 * static_cast<double>(pairs * shape.heads * shape.head_size),
        2.0 * static_cast<double>(row_bytes(type, layer)));
}

void bench_retrieval(benchmark::State& state, DType dtype, Numerics numerics) {
  const std::int64_t T = state.range(0), n = state.range(1), d_r = 64;
  const auto q = ramp(T * d_r);
  const WeightBytes keys(dtype, n, dtype == DType::i8 ? d_r + 2 : d_r);  // small keys have a scale
  constexpr std::uint16_t kScale = 0x3a80;  // 2^-10; one that is no normal number takes a processor long
  for (std::int64_t j = 0; dtype == DType::i8 && j < n; ++j)
    std::memcpy(keys.data() + j * (d_r + 2) + d_r, &kScale, sizeof kScale);
  std::vector<float> scores(static_cast<std::size_t>(n));
  Queue queue(pool(), numerics);
  for ([[maybe_unused]] auto _ : state) {
    retrieval_scores(queue, {scores.data(), DType::f32, {n}}, {q.data(), DType::f32, {T, d_r}},
                     key_tensor(keys.data(), dtype, n, d_r));
    benchmark::DoNotOptimize(scores.data());
  }
  rates(state, 2.0 * static_cast<double>(T * n * d_r), static_cast<double>(keys.size()));
}

void batch_sizes(benchmark::internal::Benchmark* b) {
  for (const std::int64_t T : {8, 32, 256}) b->Args({T, 576, 1536});
  b->Args({256, 1536, 576})->UseRealTime();
}
void vector_sizes(benchmark::internal::Benchmark* b) {
  b->Args({1, 576, 576})->Args({1, 576, 1536})->Args({1, 1536, 576})->Args({1, 576, 49152})->UseRealTime();
}
void few_sizes(benchmark::internal::Benchmark* b) {
  for (const std::int64_t T : {1, 2, 4, 8, 16}) b->Args({T, 576, 1536})->UseRealTime();
}
void k_quant_sizes(benchmark::internal::Benchmark* b) {  // a 1.5B model's
  for (const std::int64_t T : {1, 8, 256}) b->Args({T, 1536, 8960})->Args({T, 8960, 1536})->UseRealTime();
}
void adapter_sizes(benchmark::internal::Benchmark* b) {
  b->Args({1, 576, 32})
      ->Args({1, 32, 576})
      ->Args({8, 576, 32})
      ->Args({8, 32, 1536})
      ->Args({256, 576, 32})
      ->Args({256, 32, 1536})
      ->UseRealTime();
}

BENCHMARK_CAPTURE(bench_linear, f32_exact, DType::f32, Numerics::exact, Rows::batched)->Apply(batch_sizes);
BENCHMARK_CAPTURE(bench_linear, q4_1_exact, DType::q4_1, Numerics::exact, Rows::batched)->Apply(batch_sizes);
BENCHMARK_CAPTURE(bench_linear, q4_1_fast, DType::q4_1, Numerics::fast, Rows::batched)->Apply(batch_sizes);
BENCHMARK_CAPTURE(bench_linear, q8_0_fast, DType::q8_0, Numerics::fast, Rows::batched)->Apply(batch_sizes);
BENCHMARK_CAPTURE(bench_linear, q4_1_exact, DType::q4_1, Numerics::exact, Rows::few)->Apply(vector_sizes);
BENCHMARK_CAPTURE(bench_linear, q4_1_fast, DType::q4_1, Numerics::fast, Rows::few)->Apply(vector_sizes);
BENCHMARK_CAPTURE(bench_linear, q8_0_exact, DType::q8_0, Numerics::exact, Rows::few)->Apply(vector_sizes);
BENCHMARK_CAPTURE(bench_linear, q8_0_fast, DType::q8_0, Numerics::fast, Rows::few)->Apply(vector_sizes);
BENCHMARK_CAPTURE(bench_linear, q4_1_few, DType::q4_1, Numerics::fast, Rows::few)->Apply(few_sizes);
BENCHMARK_CAPTURE(bench_linear, q8_0_few, DType::q8_0, Numerics::fast, Rows::few)->Apply(few_sizes);
BENCHMARK_CAPTURE(bench_linear, q4_k_fast, DType::q4_k, Numerics::fast, Rows::few)->Apply(k_quant_sizes);
BENCHMARK_CAPTURE(bench_linear, q4_k_batched, DType::q4_k, Numerics::fast, Rows::batched)
    ->Apply(k_quant_sizes);
BENCHMARK_CAPTURE(bench_linear, q5_k_fast, DType::q5_k, Numerics::fast, Rows::few)->Apply(k_quant_sizes);
BENCHMARK_CAPTURE(bench_linear, q6_k_fast, DType::q6_k, Numerics::fast, Rows::few)->Apply(k_quant_sizes);
BENCHMARK_CAPTURE(bench_linear, bf16, DType::bf16, Numerics::fast, Rows::few)->Apply(vector_sizes);
BENCHMARK_CAPTURE(bench_linear, i8, DType::i8, Numerics::fast, Rows::few)->Apply(adapter_sizes);
void attend_sizes(benchmark::internal::Benchmark* b) {
  for (const std::int64_t T : {256, 20, 1}) b->Args({T, 1500})->UseRealTime();
  b->Args({256, 385})->Args({512, 512})->Args({1, 300});
}
BENCHMARK_CAPTURE(bench_attend, exact, Numerics::exact)->Apply(attend_sizes);
BENCHMARK_CAPTURE(bench_attend, fast, Numerics::fast)->Apply(attend_sizes);
BENCHMARK_CAPTURE(bench_retrieval, bf16, DType::bf16, Numerics::exact)
    ->Args({1, 100'000})
    ->Args({32, 150'000})
    ->Args({256, 20'000})
    ->UseRealTime();
BENCHMARK_CAPTURE(bench_retrieval, f32, DType::f32, Numerics::exact)->Args({32, 150'000})->UseRealTime();
BENCHMARK_CAPTURE(bench_retrieval, i8_exact, DType::i8, Numerics::exact)->Args({32, 150'000})->UseRealTime();
BENCHMARK_CAPTURE(bench_retrieval, i8_fast, DType::i8, Numerics::fast)
    ->Args({1, 100'000})
    ->Args({32, 150'000})
    ->Args({256, 20'000})
    ->UseRealTime();

}  // namespace
}  // namespace mplus::kernels

BENCHMARK_MAIN();
