// Speed of the operations on a CUDA device at the sizes of an 8B model with memory (hidden 4096, 32/8 heads
// of 128, ffn 14,336, 14,848 rows in the cache, 153,600 retriever keys of 256), beside the device's own
// limits: what a copy moves and what a large product computes, measured first. Then whole passes over 32
// layers. Usage: cuda_bench [products] [attention] [rows] [choices] [passes] [int8] [fp8]
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "mplus/core/error.h"
#include "mplus/core/numbers/float16.h"
#include "mplus/core/numbers/philox.h"
#include "mplus/kernels/attention/attention.h"
#include "mplus/kernels/backend.h"
#include "mplus/kernels/linear/activation.h"
#include "mplus/kernels/linear/adapter.h"
#include "mplus/kernels/linear/norm.h"
#include "mplus/kernels/retrieval/retrieval.h"
#include "mplus/kernels/rows/choose.h"
#include "mplus/kernels/rows/rows.h"
#include "mplus/kernels/rows/tokens.h"

namespace mplus::kernels {
namespace {

constexpr Device kDevice{DeviceKind::cuda, 0};
constexpr std::int64_t kHidden = 4096, kFfn = 14336, kKv = 1024, kVocab = 128256, kLayers = 32, kRank = 16;
constexpr std::int64_t kCacheRows = 14848, kKeys = 153600, kKeyWidth = 256, kChunk = 512, kTail = 256;
constexpr KvShape kShape{32, 8, 128};

class Bench {
 public:
  Bench() : queue_(pool_, Numerics::fast, kDevice) {
    std::vector<std::uint16_t> bits(1 << 20);
    for (std::size_t i = 0; i < bits.size(); ++i) {
      const auto block = philox4x32({static_cast<std::uint32_t>(i), 0, 0, 0}, {7, 0});
      bits[i] = f32_to_bf16((static_cast<float>(block[0]) * 0x1p-31f - 1.0f) * 0.02f);
    }
    noise_ = room(DType::bf16, {std::ssize(bits)});
    copy(queue_, noise_, ConstTensor(bits.data(), DType::bf16, {std::ssize(bits)}));
  }

  Queue& queue() { return queue_; }

  Tensor room(DType type, std::initializer_list<std::int64_t> shape) {
    const Tensor sized(nullptr, type, shape, kDevice);
    buffers_.push_back(queue_.backend().allocate(row_bytes(type, sized.elements())));
    return buffers_.back().tensor(type, shape);
  }
  // Filled with small random values.
  Tensor noise(DType type, std::initializer_list<std::int64_t> shape) {
    const Tensor all = room(type, shape), flat = all.as_shape({all.elements()});
    for (std::int64_t at = 0; at < flat.size(0); at += noise_.size(0)) {
      const std::int64_t n = std::min(noise_.size(0), flat.size(0) - at);
      copy(queue_, flat.rows(at, n), noise_.rows(0, n));
    }
    return all;
  }
  Matrix weights(std::int64_t outputs, std::int64_t inputs, DType type = DType::bf16) {
    return {noise(type, {outputs, inputs}).data, type, outputs, inputs, nullptr, kDevice};
  }
  // One byte each: any codes will do.
  Matrix packed(std::int64_t outputs, std::int64_t inputs, DType type) {
    const Tensor codes = noise(DType::bf16, {outputs, inputs / 2}), scales = noise(DType::f32, {outputs});
    return {codes.data, type, outputs, inputs, static_cast<const float*>(scales.data), kDevice};
  }
  Matrix any_weights(std::int64_t outputs, std::int64_t inputs, DType type) {
    return type == DType::bf16 ? weights(outputs, inputs) : packed(outputs, inputs, type);
  }

  // Of one call, the mean of so many behind one another.
  double seconds(int runs, const std::function<void(int)>& call) {
    for (int i = 0; i < 3; ++i) call(i);
    queue_.wait();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < runs; ++i) call(i);
    queue_.wait();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / runs;
  }
  void print(const std::string& what, double seconds, double flop, double bytes) const {
    fmt::print("{:<52} {:10.1f} us {:7.1f} TFLOP/s {:4.0f} % {:8.1f} GB/s {:4.0f} %\n", what, seconds * 1e6,
               flop / seconds * 1e-12, 100 * flop / seconds / peak_flops, bytes / seconds * 1e-9,
               100 * bytes / seconds / peak_bytes);
    std::fflush(stdout);
  }

  double peak_flops = 1, peak_bytes = 1;

 private:
  ThreadPool pool_{4};
  Queue queue_;
  std::deque<Buffer> buffers_;
  Tensor noise_;
};

const char* form_of(DType type) { return type == DType::i8 ? ", int8" : type == DType::u8 ? ", fp8" : ""; }

double as_double(std::int64_t n) { return static_cast<double>(n); }

void bench_limits(Bench& b) {
  const std::int64_t n = std::int64_t{1} << 30;
  const Tensor from = b.noise(DType::bf16, {n}), to = b.room(DType::bf16, {n});
  b.peak_bytes = 4 * as_double(n) / b.seconds(10, [&](int) { copy(b.queue(), to, from); });
  const std::int64_t T = 8192;
  const Tensor x = b.noise(DType::f32, {T, kHidden}), out = b.room(DType::f32, {T, kFfn});
  const Matrix w = b.weights(kFfn, kHidden);
  const double seconds = b.seconds(10, [&](int) { linear(b.queue(), out, x, w, {.rows = Rows::few}); });
  b.peak_flops = 2 * as_double(T * kHidden * kFfn) / seconds;
  fmt::print("limits: copy {:.0f} GB/s (read and written), product {:.0f} TFLOP/s with {} rows\n",
             b.peak_bytes * 1e-9, b.peak_flops * 1e-12, T);
}

void bench_linear(Bench& b, std::int64_t T, std::int64_t outputs, std::int64_t inputs, Rows rows,
                  DType type = DType::bf16) {
  // Several copies of the weights, so that they come from memory.
  const std::int64_t copies = std::clamp<std::int64_t>(400'000'000 / (outputs * inputs * 2), 1, 16);
  std::vector<Matrix> w;
  for (std::int64_t i = 0; i < copies; ++i) w.push_back(b.any_weights(outputs, inputs, type));
  const Tensor x = b.noise(DType::f32, {T, inputs}), out = b.room(DType::f32, {T, outputs});
  const double seconds = b.seconds(200, [&](int i) {
    linear(b.queue(), out, x, w[static_cast<std::size_t>(i % copies)], {.rows = rows});
  });
  b.print(
      fmt::format("linear {} x [{}, {}] {}{}", T, outputs, inputs, rows == Rows::few ? "few" : "batched",
                  form_of(type)),
      seconds, 2 * as_double(T * outputs * inputs),
      as_double(static_cast<std::int64_t>(row_bytes(type, outputs * inputs)) + T * (inputs + outputs) * 4));
}

void bench_attend(Bench& b, std::int64_t T, std::int64_t rows, std::int64_t sessions) {
  std::vector<AttendItem> items;
  for (std::int64_t i = 0; i < sessions; ++i)
    items.push_back({b.room(DType::f32, {T, kHidden}),
                     b.noise(DType::f32, {T, kHidden}),
                     {b.noise(DType::bf16, {8, rows, 128}), b.noise(DType::bf16, {8, rows, 128}), rows}});
  const double seconds = b.seconds(50, [&](int) { attend(b.queue(), items, kShape); });
  const double seen = as_double(rows - T) + as_double(T + 1) / 2;
  b.print(fmt::format("attend {} x {} over {} rows", sessions, T, rows), seconds,
          as_double(sessions * T) * seen * 4 * kHidden,
          as_double(sessions * (rows * kKv * 4 + T * kHidden * 8)));
}

void bench_retrieval(Bench& b, std::int64_t T) {
  const Tensor keys = b.noise(DType::bf16, {kKeys, kKeyWidth}), q = b.noise(DType::f32, {T, kKeyWidth}),
               scores = b.room(DType::f32, {kKeys});
  const double seconds = b.seconds(20, [&](int) { retrieval_scores(b.queue(), scores, q, keys); });
  b.print(fmt::format("retrieval {} queries, {} keys of {}", T, kKeys, kKeyWidth), seconds,
          2 * as_double(T * kKeys * kKeyWidth), as_double(kKeys * kKeyWidth * 2));
}

void bench_rows(Bench& b) {
  const std::int64_t T = kChunk + kTail;
  const Tensor x = b.noise(DType::f32, {T, kHidden}), xn = b.room(DType::f32, {T, kHidden}),
               weight = b.noise(DType::f32, {kHidden});
  const Tensor gate = b.noise(DType::f32, {T, kFfn}), up = b.noise(DType::f32, {T, kFfn});
  b.print("rms_norm 768 x 4096", b.seconds(100, [&](int) { rms_norm(b.queue(), xn, x, weight, 1e-5f); }), 0,
          as_double(T * kHidden * 8));
  b.print("rms_norm 1 x 4096",
          b.seconds(100, [&](int) { rms_norm(b.queue(), xn.rows(0, 1), x.rows(0, 1), weight, 1e-5f); }), 0,
          as_double(kHidden * 8));
  b.print("swiglu 768 x 14336", b.seconds(100, [&](int) { swiglu(b.queue(), gate, gate, up); }), 0,
          as_double(T * kFfn * 12));
  b.print("note_finite 768 x 4096", b.seconds(100, [&](int) { note_finite(b.queue(), x, 1); }), 0,
          as_double(T * kHidden * 4));
  RopeTable angles(std::vector<float>(64, 0.01f));
  angles.reserve(b.queue(), kCacheRows);
  const Tensor k = b.noise(DType::bf16, {kCacheRows, kKv}), v = b.noise(DType::bf16, {kCacheRows, kKv});
  const KvCache empty{b.room(DType::bf16, {8, kCacheRows, 128}), b.room(DType::bf16, {8, kCacheRows, 128}),
                      0};
  b.print("append 14848 rows of the device",
          b.seconds(50,
                    [&](int) {
                      KvCache cache = empty;
                      append_rows(b.queue(), cache, kShape, {k, v}, angles);
                    }),
          0, as_double(kCacheRows * kKv * 8));
}

// Logits as a model has them: a bell of some nats.
void bench_choices(Bench& b) {
  const std::int64_t most = 16;
  std::vector<float> bell(static_cast<std::size_t>(most * kVocab));
  for (std::size_t i = 0; i < bell.size(); ++i) {
    const auto block = philox4x32({static_cast<std::uint32_t>(i), 1, 0, 0}, {7, 0});
    for (const std::uint32_t bits : block) bell[i] += (static_cast<float>(bits) * 0x1p-31f - 1.0f) * 2.6f;
  }
  const Tensor logits = b.room(DType::f32, {most, kVocab}), out = b.room(DType::i64, {most});
  copy(b.queue(), logits, ConstTensor(bell.data(), DType::f32, {most, kVocab}));
  const std::pair<const char*, Choice> kinds[] = {
      {"the best", {}},
      {"temperature 1", {.temperature = 1}},
      {"temperature 0.7, top-p 0.95", {.temperature = 0.7f, .top_p = 0.95f}},
      {"temperature 1, top-p 0.999", {.temperature = 1, .top_p = 0.999f}},
      {"temperature 1, top-k 50", {.temperature = 1, .top_k = 50}}};
  ChoiceRoom room;
  for (const auto& [name, kind] : kinds) {
    std::vector<Choice> choices(most, kind);
    for (std::size_t i = 0; i < choices.size(); ++i) choices[i].chance = 0x9e3779b97f4a7c15u * (i + 1);
    for (const std::int64_t rows : {std::int64_t{1}, most})
      b.print(fmt::format("choose {} of {}: {}", rows, kVocab, name),
              b.seconds(100,
                        [&](int) {
                          choose(b.queue(), out.rows(0, rows), logits.rows(0, rows),
                                 {choices.data(), static_cast<std::size_t>(rows)});
                        }),
              0, as_double(rows * kVocab * 4));
    const std::span<const float> row(bell.data(), static_cast<std::size_t>(kVocab));
    b.print(fmt::format("  on the host, 1 of {}", kVocab),
            b.seconds(10, [&](int i) { mplus::choose(row, choices[static_cast<std::size_t>(i)], room); }), 0,
            as_double(kVocab * 4));
  }
}

struct Adapted {
  Matrix base, a, b;
};
struct Layer {
  Adapted q, k, v, gate, up, down;
  Matrix o;
  KvCache cache;
};

Adapted adapted(Bench& b, std::int64_t outputs, std::int64_t inputs, DType base) {
  const DType type = base == DType::bf16 ? DType::bf16 : DType::f16;
  return {b.any_weights(outputs, inputs, base), b.weights(kRank, inputs, type),
          b.weights(outputs, kRank, type)};
}

// A pass of T new rows over `rows` rows of a cache, without embedding, memory and host.
class Pass {
 public:
  Pass(Bench& b, std::vector<Layer>& layers, std::int64_t T) : b_(b), layers_(layers), T_(T) {
    for (Tensor* x : {&x_, &xn_, &q_, &o_}) *x = b.noise(DType::f32, {T, kHidden});
    for (Tensor* x : {&k_, &v_}) *x = b.noise(DType::f32, {T, kKv});
    for (Tensor* x : {&gate_, &up_}) *x = b.noise(DType::f32, {T, kFfn});
    for (Tensor& low : low_) low = b.room(DType::f32, {T, kRank});
    norm_ = b.noise(DType::f32, {kHidden});
    angles_.reserve(b.queue(), kCacheRows);
  }
  void run(std::int64_t rows, Rows kind) {
    Queue& queue = b_.queue();
    for (Layer& layer : layers_) {
      rms_norm(queue, xn_, x_, norm_, 1e-5f);
      project(xn_, {{q_, &layer.q}, {k_, &layer.k}, {v_, &layer.v}}, kind);
      KvCache cache = layer.cache;
      cache.rows = rows - T_;
      const TokenRows tokens{.cache = cache, .q = q_, .k = k_, .v = v_};
      append_tokens(queue, {&tokens, 1}, kShape, angles_, 1);
      cache.rows = rows;
      attend(queue, o_, q_, cache, kShape);
      linear(queue, x_, o_, layer.o, {.accumulate = true, .rows = kind});
      rms_norm(queue, xn_, x_, norm_, 1e-5f);
      swiglu_adapted(queue, xn_, adapted({gate_, &layer.gate}, 0), adapted({up_, &layer.up}, 1), kind,
                     ResultUse::products);
      project(gate_, {{x_, &layer.down, true}}, kind);
    }
  }

 private:
  struct Output {
    Tensor out;
    const Adapted* weights;
    bool accumulate = false;
  };
  AdaptedOutput adapted(const Output& output, std::size_t n) const {
    return {output.out,
            &output.weights->base,
            {output.weights->a, output.weights->b, 2.0f, low_[n]},
            output.accumulate};
  }
  void project(const Tensor& x, std::initializer_list<Output> outputs, Rows kind) {
    AdaptedOutput list[3];
    std::size_t n = 0;
    for (const Output& output : outputs) {
      list[n] = adapted(output, n);
      ++n;
    }
    linear_adapted(b_.queue(), x, {list, n}, kind);
  }

  Bench& b_;
  std::vector<Layer>& layers_;
  std::int64_t T_;
  Tensor x_, xn_, q_, o_, k_, v_, gate_, up_, low_[3], norm_;
  RopeTable angles_{std::vector<float>(64, 0.01f)};
};

void bench_passes(Bench& b, DType type) {
  std::vector<Layer> layers;
  for (std::int64_t l = 0; l < kLayers; ++l)
    layers.push_back(
        {adapted(b, kHidden, kHidden, type),
         adapted(b, kKv, kHidden, type),
         adapted(b, kKv, kHidden, type),
         adapted(b, kFfn, kHidden, type),
         adapted(b, kFfn, kHidden, type),
         adapted(b, kHidden, kFfn, type),
         b.any_weights(kHidden, kHidden, type),
         {b.noise(DType::bf16, {8, kCacheRows, 128}), b.noise(DType::bf16, {8, kCacheRows, 128}), 0}});
  const Matrix head = b.any_weights(kVocab, kHidden, type);
  const double layer_weights = as_double(2 * kHidden * kHidden + 2 * kKv * kHidden + 3 * kFfn * kHidden);
  const auto pass = [&](const char* name, std::int64_t T, std::int64_t rows, Rows kind, bool logits) {
    Pass run(b, layers, T);
    const Tensor last = b.noise(DType::f32, {1, kHidden}), out = b.room(DType::f32, {1, kVocab});
    const double seconds = b.seconds(T > 512 ? 5 : 60, [&](int) {  // so long that clocks settle
      run.run(rows, kind);
      if (logits) linear(b.queue(), out, last, head);
    });
    const double seen = as_double(rows - T) + as_double(T + 1) / 2;
    const double weights = layer_weights * kLayers + (logits ? as_double(kVocab * kHidden) : 0);
    b.print(std::string(name) + form_of(type), seconds,
            2 * as_double(T) * layer_weights * kLayers + as_double(T) * seen * 4 * kHidden * kLayers,
            static_cast<double>(row_bytes(type, 1)) * weights + as_double(kLayers * rows * kKv * 4));
  };
  pass("32 layers: write a chunk of 512 over 769 rows", kChunk, 1 + kChunk + kTail, Rows::batched, false);
  pass("32 layers: one token over 14,848 rows", 1, kCacheRows, Rows::few, true);
  pass("32 layers: 32 tokens over 14,848 rows", 32, kCacheRows, Rows::few, true);
  pass("32 layers: 2,048 tokens over 14,848 rows", 2048, kCacheRows, Rows::few, true);
}

void bench_products(Bench& b) {
  for (const std::int64_t T : {512, 768, 8192})
    for (const auto& [outputs, inputs] : {std::pair{kFfn, kHidden},
                                          {kHidden, kFfn},
                                          {kHidden, kHidden},
                                          {kKv, kHidden},
                                          {kRank, kHidden},
                                          {kFfn, kRank}})
      bench_linear(b, T, outputs, inputs, Rows::batched);
  for (const std::int64_t T : {1, 8, 16, 32})
    for (const auto& [outputs, inputs] : {std::pair{kFfn, kHidden},
                                          {kHidden, kFfn},
                                          {kHidden, kHidden},
                                          {kKv, kHidden},
                                          {kRank, kHidden},
                                          {kFfn, kRank},
                                          {kVocab, kHidden}})
      bench_linear(b, T, outputs, inputs, Rows::few);
  for (const std::int64_t T : {1, 16, 32, 512})
    for (const auto& [outputs, inputs] : {std::pair{kFfn, kHidden}, {kHidden, kFfn}, {kHidden, kHidden}})
      bench_linear(b, T, outputs, inputs, T > 64 ? Rows::batched : Rows::few, DType::i8);
}

void bench_attention(Bench& b) {
  bench_attend(b, 512, 769, 1);
  bench_attend(b, 512, 769, 16);
  bench_attend(b, 2048, kCacheRows, 1);
  bench_attend(b, 32, kCacheRows, 1);
  bench_attend(b, 1, kCacheRows, 1);
  bench_attend(b, 1, kCacheRows, 16);
  for (const std::int64_t T : {32, 2048}) bench_retrieval(b, T);
}

// Parts by their names; none: all.
int run(std::span<char*> names) {
  const auto wanted = [&](std::string_view part) {
    return names.empty() ||
           std::any_of(names.begin(), names.end(), [&](const char* name) { return part == name; });
  };
  Bench limits;
  fmt::print("{}: {}\n", device_name(kDevice), numerics_id(Numerics::fast, kDevice));
  bench_limits(limits);
  const auto part = [&](const char* name, const std::function<void(Bench&)>& bench) {
    if (!wanted(name)) return;
    Bench b;  // with memory of its own
    b.peak_flops = limits.peak_flops;
    b.peak_bytes = limits.peak_bytes;
    bench(b);
  };
  part("products", bench_products);
  part("attention", bench_attention);
  part("rows", bench_rows);
  part("choices", bench_choices);
  part("passes", [](Bench& b) { bench_passes(b, DType::bf16); });
  part("int8", [](Bench& b) { bench_passes(b, DType::i8); });
  part("fp8", [](Bench& b) { bench_passes(b, DType::u8); });
  return 0;
}

}  // namespace
}  // namespace mplus::kernels

int main(int count, char** arguments) {
  try {
    return mplus::kernels::run({arguments + 1, static_cast<std::size_t>(count - 1)});
  } catch (const mplus::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
