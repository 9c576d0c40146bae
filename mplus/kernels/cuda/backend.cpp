#include "mplus/kernels/cuda/backend.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "mplus/core/error.h"
#include "mplus/core/numbers/dequantise.h"
#include "mplus/kernels/attention/rope.h"
#include "mplus/kernels/cuda/device/check.h"
#include "mplus/kernels/rows/choose.h"
#include "mplus/kernels/rows/rows.h"

namespace mplus::kernels::cuda {
namespace {

constexpr int kVersion = 5;  // raise it when a change alters bits

// A tensor of any shape without gaps is one row.
Rows2d rows_of(const ConstTensor& x) {
  const std::int64_t n = x.elements();
  if (x.contiguous()) return {x.data, x.dtype, 1, n, n};
  return {x.data, x.dtype, x.size(0), x.size(1), x.stride(0)};
}

void copy_here(CudaQueueState& state, const Tensor& out, const ConstTensor& in) {
  if (out.elements() == 0) return;
  if (out.dtype == in.dtype && out.contiguous() && in.contiguous())
    return check(cudaMemcpyAsync(out.data, in.data, row_bytes(in.dtype, in.elements()),
                                 cudaMemcpyDeviceToDevice, state.stream()),
                 "copying");
  Rows2d from = rows_of(in);
  if (!in.contiguous() || !out.contiguous()) from = {in.data, in.dtype, in.size(0), in.size(1), in.stride(0)};
  convert(state.stream(), out.data, out.dtype, out.contiguous() ? from.cols : out.stride(0), from);
  check_launch("copying rows");
}

}  // namespace

CudaQueueState& state_for_products(Queue& queue) {
  auto& state = static_cast<CudaQueueState&>(queue.state());
  state.memory().use();
  return state;
}

CudaQueueState& state_of(Queue& queue) {
  CudaQueueState& state = state_for_products(queue);
  state.forget_rounded();
  return state;
}

DType CudaBackend::weight_type(Numerics numerics, DType file) const {
  if (numerics == Numerics::exact) return DType::f32;
  return file == DType::f16 ? DType::f16 : DType::bf16;
}

// linear_packed.cu, and the library with many rows.
bool CudaBackend::packs_weights(Numerics numerics, const Matrix& m) const {
  return numerics == Numerics::fast && m.cols % 64 == 0 && m.rows % 4 == 0;
}

DType CudaBackend::cache_type(Numerics numerics) const {
  return numerics == Numerics::exact ? DType::f32 : DType::bf16;
}

std::int64_t CudaBackend::short_rows(Numerics numerics) const {
  constexpr std::int64_t kShort = 64;  // linear_tensor.cu
  return numerics == Numerics::exact ? 0 : kShort;
}

std::string CudaBackend::numerics_id(Numerics numerics) const {
  const std::string device = fmt::format("c{}-sm{}", kVersion, memory_->architecture());
  return numerics == Numerics::exact ? device + "-exact" : device + "-" + matmul_id() + "-fast";
}

std::unique_ptr<QueueState> CudaBackend::make_state() const {
  return std::make_unique<CudaQueueState>(*memory_);
}

void CudaBackend::wait(Queue& queue) const { state_of(queue).wait(); }

void CudaBackend::wait_aside(Queue& queue) const { state_of(queue).wait_aside(); }

void CudaBackend::copy(Queue& queue, Tensor out, ConstTensor in) const {
  CudaQueueState& state = state_of(queue);
  if (on_device(out) && on_device(in)) return copy_here(state, out, in);
  const std::size_t size_bytes = row_bytes(in.dtype, in.elements());
  on_device(out) ? state.upload(queue.pool(), out.data, in.data, size_bytes)
                 : state.download(out.data, in.data, size_bytes);
}

// In one launch, as far as they are f32 without gaps and of whole fours.
void CudaBackend::copy_all(Queue& queue, std::span<const RowCopy> copies) const {
  CudaQueueState& state = state_of(queue);
  const auto aligned = [](const void* p, std::uintptr_t bytes) {
    return reinterpret_cast<std::uintptr_t>(p) % bytes == 0;
  };
  Copies some;
  const auto flush = [&] {
    copy_several(state.stream(), std::exchange(some, {}));
    check_launch("copying rows");
  };
  for (const RowCopy& copy : copies) {
    const auto& [out, in, plus] = copy;
    const bool fits = in.dtype == DType::f32 && in.contiguous() && out.contiguous() && aligned(in.data, 16) &&
                      aligned(out.data, out.dtype == DType::f32 ? 16 : 8) && aligned(plus.data, 16) &&
                      in.elements() % 4 == 0 && plus.elements() % 4 == 0;
    if (!fits) {
      Backend::copy_all(queue, {&copy, 1});
      continue;
    }
    some.list[some.count++] = {out.data,      floats(in),      plus.empty() ? nullptr : floats(plus),
                               in.elements(), plus.elements(), out.dtype};
    if (some.count == Copies::kMost) flush();
  }
  flush();
}

void CudaBackend::copy_aside(Queue& queue, Tensor out, ConstTensor in) const {
  state_for_products(queue).download_aside(out.data, in.data, row_bytes(in.dtype, in.elements()));
}

void CudaBackend::bring(void* to, const ConstTensor& from) const {
  memory_->use();
  check(cudaMemcpyAsync(to, from.data, row_bytes(from.dtype, from.elements()), cudaMemcpyDeviceToHost,
                        memory_->stream()),
        "copying from the device");
  check(cudaStreamSynchronize(memory_->stream()), "copying from the device");
}

void CudaBackend::scatter_rows(Queue& queue, std::span<const RowScatter> jobs) const {
  CudaQueueState& state = state_of(queue);
  std::size_t places = 0;
  for (const RowScatter& job : jobs) places += job.places.size();
  const std::size_t table_bytes = jobs.size() * sizeof(ScatterJob), size_bytes = table_bytes + 4 * places;
  auto* there = static_cast<std::byte*>(state.scratch(Scratch::places, size_bytes));
  std::byte* staged = state.stage(size_bytes);
  std::byte* at = staged + table_bytes;
  std::int64_t most_rows = 0;
  bool quads = true;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const auto& [to, from, rows] = jobs[i];
    const ScatterJob job{.to = to.data,
                         .from = from.data,
                         .places = reinterpret_cast<const std::int32_t*>(there + (at - staged)),
                         .n = from.size(0),
                         .size_bytes = static_cast<std::int64_t>(row_bytes(to.dtype, to.size(1)))};
    std::memcpy(staged + i * sizeof job, &job, sizeof job);
    std::memcpy(at, rows.data(), rows.size_bytes());
    at += rows.size_bytes();
    most_rows = std::max(most_rows, job.n);
    for (const void* p : {static_cast<const void*>(to.data), from.data})
      quads = quads && reinterpret_cast<std::uintptr_t>(p) % 16 == 0 && job.size_bytes % 16 == 0;
  }
  state.send(there, staged, size_bytes);
  cuda::scatter_rows(state.stream(), reinterpret_cast<const ScatterJob*>(there), std::ssize(jobs), most_rows,
                     quads);
  check_launch("scattering rows");
}

void CudaBackend::fill(Queue& queue, Tensor out, float value) const {
  cuda::fill(state_of(queue).stream(), floats(out), out.elements(), value);
  check_launch("filling");
}

void CudaBackend::note_finite(Queue& queue, std::span<const Note> notes) const {
  CudaQueueState& state = state_for_products(queue);
  for (std::size_t first = 0; first < notes.size(); first += Notes::kMost) {
    Notes some;
    for (const auto& [x, number] :
         notes.subspan(first, std::min<std::size_t>(Notes::kMost, notes.size() - first)))
      some.list[some.count++] = {floats(x), x.elements(), number};
    cuda::note_finite(state.stream(), state.note(), some);
  }
  check_launch("looking for NaN");
}

std::int32_t CudaBackend::take_note(Queue& queue) const { return state_of(queue).take_note(); }

std::unique_ptr<Mark> CudaBackend::mark(Queue& queue) const { return state_of(queue).mark(); }

void CudaBackend::choose(Queue& queue, Tensor out, Tensor logits, std::span<const Choice> choices) const {
  CudaQueueState& state = state_of(queue);
  std::size_t edits = 0;
  for (const Choice& choice : choices) edits += choice.edits.size();
  auto* there = static_cast<LogitEdit*>(state.scratch(Scratch::places, edits * sizeof(LogitEdit)));
  const std::int64_t vocab = logits.size(1);
  for (std::size_t first = 0; first < choices.size(); first += Choices::kMost) {
    Choices some;
    for (const Choice& choice :
         choices.subspan(first, std::min<std::size_t>(Choices::kMost, choices.size() - first))) {
      Choices::Row& row = some.list[some.count++];
      row = {.top_p = choice.top_p,
             .top_k = static_cast<std::uint64_t>(choice.top_k),
             .chance = choice.chance,
             .edits = there,
             .edit_count = std::ssize(choice.edits)};
      if (choice.temperature > 0) {
        const ChoiceNumbers numbers(choice);
        row.drawn = true, row.octaves = numbers.octaves, row.least = numbers.least;
      }
      if (!choice.edits.empty())
        state.upload(queue.pool(), there, choice.edits.data(), choice.edits.size_bytes());
      there += choice.edits.size();
    }
    const auto from = static_cast<std::int64_t>(first);
    cuda::choose(state.stream(), static_cast<std::int64_t*>(out.data) + from, floats(logits) + from * vocab,
                 vocab, some);
    check_launch("choosing tokens");
  }
}

namespace {

void embed_from_host(Queue& queue, const Tensor& out, const Matrix& table,
                     std::span<const std::int32_t> ids) {
  CudaQueueState& state = state_of(queue);
  const std::size_t row = row_bytes(DType::f32, table.cols);
  const std::size_t most = std::max<std::size_t>(1, CudaQueueState::kSlotBytes / row);
  for (std::size_t first = 0; first < ids.size(); first += most) {
    const std::span<const std::int32_t> some = ids.subspan(first, std::min(most, ids.size() - first));
    std::byte* staged = state.stage(some.size() * row);
    queue.pool().run(std::ssize(some), [&](std::int64_t i, int) {
      const auto at = static_cast<std::size_t>(i);
      dequantise_row(reinterpret_cast<float*>(staged + at * row), table, some[at]);
    });
    state.send(floats(out) + static_cast<std::int64_t>(first) * table.cols, staged, some.size() * row);
  }
}

}  // namespace

void CudaBackend::embed(Queue& queue, Tensor out, const Matrix& table,
                        std::span<const std::int32_t> ids) const {
  if (ids.empty()) return;
  if (table.device.is_cpu()) return embed_from_host(queue, out, table, ids);
  CudaQueueState& state = state_of(queue);
  void* there = state.scratch(Scratch::places, ids.size_bytes());
  state.upload(queue.pool(), there, ids.data(), ids.size_bytes());
  cuda::embed(state.stream(), floats(out), {table.data, table.dtype, table.rows, table.cols, table.cols},
              static_cast<const std::int32_t*>(there), std::ssize(ids));
  check_launch("embedding tokens");
}

void CudaBackend::rms_norm(Queue& queue, Tensor out, ConstTensor x, ConstTensor weight, float epsilon,
                           std::optional<DType> read_as) const {
  constexpr std::int64_t kOperandWidth = 32;  // products of it, or of twice as much, … read operands
  CudaQueueState& state = state_of(queue);
  RmsNorm job{floats(out), floats(x), floats(weight), x.size(0), x.size(1), epsilon, {}};
  const bool aligned = reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0 &&
                       reinterpret_cast<std::uintptr_t>(weight.data) % 16 == 0;
  const bool half = read_as == DType::bf16 || read_as == DType::f16;
  if (queue.numerics() == Numerics::fast && aligned)
    job.rounded = half ? state.round_along(out, *read_as) : state.round_along(out);
  if (half && job.rounded.to != nullptr && x.size(1) % kOperandWidth == 0) {
    state.note_only_rounded();
    job.out = nullptr;
  }
  cuda::rms_norm(state.stream(), job);
  check_launch("norming rows");
}

void CudaBackend::swiglu(Queue& queue, Tensor out, ConstTensor gate, ConstTensor up) const {
  CudaQueueState& state = state_of(queue);
  Swiglu job{floats(out), floats(gate), floats(up), out.elements(), {}};
  const bool aligned = reinterpret_cast<std::uintptr_t>(gate.data) % 16 == 0 &&
                       reinterpret_cast<std::uintptr_t>(up.data) % 16 == 0;
  if (queue.numerics() == Numerics::fast && aligned) job.rounded = state.round_along(out);
  cuda::swiglu(state.stream(), job);
  check_launch("swiglu");
}

void CudaBackend::silu(Queue& queue, Tensor x) const {
  cuda::silu(state_of(queue).stream(), floats(x), x.elements());
  check_launch("silu");
}

void CudaBackend::add_row(Queue& queue, Tensor x, ConstTensor row) const {
  cuda::add_row(state_of(queue).stream(), floats(x), floats(row), x.size(0), x.size(1));
  check_launch("adding a row");
}

void CudaBackend::pooling_shares(Queue& queue, Tensor shares, ConstTensor x, ConstTensor vector) const {
  cuda::pooling_shares(state_of(queue).stream(), floats(shares),
                       {x.data, x.dtype, x.size(0), x.size(1), x.size(1)}, floats(vector));
  check_launch("pooling");
}

void CudaBackend::rope(Queue& queue, Tensor x, const RopeTable& angles, std::int64_t first_position) const {
  cuda::rope(state_of(queue).stream(), {.x = floats(x),
                                        .T = x.size(0),
                                        .heads = x.size(1) / (2 * angles.half()),
                                        .half = angles.half(),
                                        .stride = x.stride(0),
                                        .first = first_position,
                                        .angles = floats(angles.on(queue.device()))});
  check_launch("rotating");
}

}  // namespace mplus::kernels::cuda

namespace mplus::kernels {

int cuda_devices() { return cuda::device_count(); }

const Backend& cuda_backend(const Device& device) {
  static std::mutex mutex;
  static auto& backends = *new std::map<int, std::unique_ptr<cuda::CudaBackend>>;  // never given back
  const std::lock_guard lock(mutex);
  std::unique_ptr<cuda::CudaBackend>& backend = backends[device.index];
  if (!backend) backend = std::make_unique<cuda::CudaBackend>(cuda::device_memory(device.index));
  return *backend;
}

}  // namespace mplus::kernels
