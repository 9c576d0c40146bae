// The processor as a backend: today's operations on plain memory. Not compiled once per instruction set; what
// it calls chooses one.
#include "mplus/kernels/backend.h"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <string>
#include <utility>

#include "mplus/core/numbers/dequantise.h"
#include "mplus/kernels/cpu/ops/operations.h"
#include "mplus/kernels/cpu/state.h"
#include "mplus/kernels/isa.h"
#include "mplus/kernels/rows/convert.h"

namespace mplus::kernels {
namespace {

class CpuBackend final : public Backend {
 public:
  Buffer allocate(std::size_t size_bytes) const override {
    if (size_bytes >= kLarge) return allocate_large(size_bytes);
    const auto release = [](void* data, std::size_t) {
      ::operator delete (data, std::align_val_t{kAlignment});
    };
    return {::operator new (size_bytes, std::align_val_t{kAlignment}), size_bytes, Device(), release};
  }

  Buffer allocate_host(std::size_t size_bytes) const override { return allocate(size_bytes); }
  std::size_t free_bytes() const override { return std::numeric_limits<std::size_t>::max(); }

  void bring(void* to, const ConstTensor& from) const override {
    std::memcpy(to, from.data, row_bytes(from.dtype, from.elements()));
  }

  DType weight_type(Numerics, DType file) const override { return file; }
  DType cache_type(Numerics numerics) const override {
    return numerics == Numerics::fast ? table().fast_cache : DType::f32;
  }
  std::int64_t short_rows(Numerics numerics) const override {
    return numerics == Numerics::fast ? table().short_rows : 0;
  }
  std::string numerics_id(Numerics numerics) const override { return isa_numerics_id(numerics); }

  std::size_t arranged_bytes(Numerics numerics, const Matrix& w) const override {
    return cpu::arranged_bytes(numerics, w);
  }
  Matrix arrange(Queue& queue, std::byte* to, const Matrix& w) const override {
    return cpu::arrange(queue, to, w);
  }

  std::unique_ptr<QueueState> make_state() const override { return std::make_unique<cpu::State>(); }
  void wait(Queue&) const override {}

  void copy(Queue&, Tensor out, ConstTensor in) const override {
    const bool matrix = out.dimensions == 2;
    if (out.contiguous() && in.contiguous()) return copy_row(out, in);
    for (std::int64_t r = 0; matrix && r < out.size(0); ++r) copy_row(out.row(r), in.row(r));
  }

  void fill(Queue&, Tensor out, float value) const override {
    std::fill_n(out.on_host<float>(), out.elements(), value);
  }

  void scatter_rows(Queue&, std::span<const RowScatter> jobs) const override {
    for (const auto& [to, from, places] : jobs)
      for (std::int64_t i = 0; i < from.size(0); ++i)
        copy_row(to.row(places[static_cast<std::size_t>(i)]), from.row(i));
  }

  void note_finite(Queue& queue, std::span<const Note> notes) const override {
    std::int32_t& note = static_cast<cpu::State&>(queue.state()).note;
    for (const auto& [x, number] : notes)
      if (!cpu::all_finite(queue, x.on_host<float>(), x.elements()))
        note = note < 0 ? number : std::min(note, number);
  }

  std::int32_t take_note(Queue& queue) const override {
    return std::exchange(static_cast<cpu::State&>(queue.state()).note, -1);
  }

  void choose(Queue& queue, Tensor out, Tensor logits, std::span<const Choice> choices) const override {
    cpu::choose(queue, out.on_host<std::int64_t>(), logits, choices);
  }

  void embed(Queue&, Tensor out, const Matrix& table, std::span<const std::int32_t> ids) const override {
    float* row = out.on_host<float>();
    for (const std::int32_t id : ids) {
      dequantise_row(row, table, id);
      row += table.cols;
    }
  }

  void linear(Queue& queue, ConstTensor x, std::span<const LinearOutput> outputs) const override {
    cpu::Product products[kMostProducts];
    for (std::size_t i = 0; i < outputs.size(); ++i)
      products[i] = {outputs[i].out.on_host<float>(), outputs[i].w, outputs[i].options,
                     outputs[i].out.stride(0)};
    cpu::linear(queue, x.on_host<float>(), x.size(0), {products, outputs.size()});
  }

  // Those with as many rows, and with additions or without, at a time: they fold together.
  void linear_adapted(Queue& queue, ConstTensor x, std::span<const AdaptedOutput> outputs,
                      Rows rows) const override {
    while (!outputs.empty()) {
      const AdaptedOutput& first = outputs.front();
      const auto other = std::ranges::find_if(outputs, [&](const AdaptedOutput& output) {
        return output.out.size(0) != first.out.size(0) || output.adapter.a.empty() != first.adapter.a.empty();
      });
      const auto alike = outputs.first(static_cast<std::size_t>(other - outputs.begin()));
      const ConstTensor some = x.rows(0, first.out.size(0));
      if (!cpu::linear_adapted(queue, some, alike, rows)) Backend::linear_adapted(queue, some, alike, rows);
      outputs = outputs.subspan(alike.size());
    }
  }

  void swiglu_adapted(Queue& queue, ConstTensor x, const AdaptedOutput& gate, const AdaptedOutput& up,
                      Rows rows, ResultUse use) const override {
    const AdaptedOutput both[] = {gate, up};
    if (!cpu::swiglu_adapted(queue, x, both, rows, use))
      Backend::swiglu_adapted(queue, x, gate, up, rows, use);
  }

  bool read_alike(const Matrix& a, const Matrix& b) const override {
    return cpu::meets_integers(a) && cpu::meets_integers(b);
  }

  void rms_norm(Queue& queue, Tensor out, ConstTensor x, ConstTensor weight, float epsilon,
                std::optional<DType>) const override {
    cpu::rms_norm(queue, out, x, weight, epsilon);
  }

  void swiglu(Queue& queue, Tensor out, ConstTensor gate, ConstTensor up) const override {
    cpu::swiglu(queue, out.on_host<float>(), gate.on_host<float>(), up.on_host<float>(), out.elements());
  }

  void silu(Queue& queue, Tensor x) const override { cpu::silu(queue, x.on_host<float>(), x.elements()); }

  void add_row(Queue& queue, Tensor x, ConstTensor row) const override {
    cpu::add_row(queue, x.on_host<float>(), row.on_host<float>(), x.size(0), x.size(1));
  }

  void pooling_shares(Queue&, Tensor to, ConstTensor x, ConstTensor vector) const override {
    const std::int64_t T = x.size(0), d = x.size(1);
    float* shares = to.on_host<float>();
    const float *rows = x.on_host<float>(), *v = vector.on_host<float>();
    float most = -std::numeric_limits<float>::infinity(), sum = 0;
    for (std::int64_t t = 0; t < T; ++t)
      most = std::max(most, shares[t] = std::inner_product(v, v + d, rows + t * d, 0.0f));
    for (std::int64_t t = 0; t < T; ++t) sum += shares[t] = std::exp(shares[t] - most);
    for (std::int64_t t = 0; t < T; ++t) shares[t] /= sum;
  }

  void rope(Queue& queue, Tensor x, const RopeTable& angles, std::int64_t first_position) const override {
    cpu::rope(queue, x, angles, first_position);
  }

  void append_rows(Queue& queue, const KvCache& cache, const KvShape& shape, const RowBlock& rows,
                   const RopeTable& angles) const override {
    cpu::append_rows(queue, cache, shape, rows, angles);
  }

  void gather_rows(Queue& queue, const KvCache& cache, const KvShape& shape, const RowGather& rows,
                   const RopeTable& angles) const override {
    cpu::gather_rows(queue, cache, shape, rows, angles);
  }

  void gather_rows(Queue& queue, const KvCache& cache, const KvShape& shape, const NumberedRows& rows,
                   const RopeTable& angles) const override {
    cpu::gather_rows(queue, cache, shape, rows, angles);
  }

  void attend(Queue& queue, std::span<const AttendItem> items, const KvShape& shape) const override {
    cpu::attend(queue, items, shape);
  }

  void attention_weights(Queue& queue, const AttendItem& item, const KvShape& shape) const override {
    cpu::attention_weights(queue, item, shape);
  }

  void retrieval_scores(Queue& queue, std::span<const QueryKeys> layers) const override {
    for (const QueryKeys& layer : layers)
      if (!layer.blocks.empty()) cpu::retrieval_scores(queue, layer.blocks, layer.q);
  }

  void gathered_scores(Queue& queue, Tensor scores, ConstTensor q, const KeyGather& keys) const override {
    cpu::gathered_scores(queue, scores.on_host<float>(), q, keys);
  }

  void chunk_sums(Queue& queue, std::span<const ChunkSums> layers, const ChunkRule& rule) const override {
    cpu::chunk_sums(queue, layers, rule);
  }

  void best_scores(Queue&, const BestScores& out, ConstTensor scores, std::int64_t wanted) const override {
    cpu::best_scores(out, scores, wanted);
  }

 private:
  // Weights, mostly: in pages of 2 MB where the system has them, which are made and found again much faster.
  static constexpr std::size_t kHugePage = std::size_t{2} << 20;
  static constexpr std::size_t kLarge = 8 * kHugePage;

  static Buffer allocate_large(std::size_t size_bytes) {
    void* data = ::operator new (size_bytes, std::align_val_t{kHugePage});
    ::madvise(data, size_bytes / kHugePage * kHugePage, MADV_HUGEPAGE);  // without them it works as well
    const auto release = [](void* memory, std::size_t) {
      ::operator delete (memory, std::align_val_t{kHugePage});
    };
    return {data, size_bytes, Device(), release};
  }

  static void copy_row(const Tensor& out, const ConstTensor& in) {
    const std::int64_t n = out.elements();
    if (n == 0) return;
    if (out.dtype == in.dtype) {
      std::memcpy(out.data, in.data, row_bytes(in.dtype, n));
    } else if (out.dtype == DType::f32) {
      to_f32(out.on_host<float>(), in.data, in.dtype, n);
    } else {
      MPLUS_CHECK(in.dtype == DType::f32, "{} as {}", dtype_name(in.dtype), dtype_name(out.dtype));
      from_f32(out.data, out.dtype, in.on_host<float>(), n);
    }
  }
};

}  // namespace

const Backend& cpu_backend() {
  static const CpuBackend backend;
  return backend;
}

}  // namespace mplus::kernels
