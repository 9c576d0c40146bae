// Products with a low-rank addition, for instruction sets that fold it in (Table::gated): x is rounded once
// for all products, inner halves leave as the outer ones read them, and what comes out of gate and up may
// stay as the next product reads it. Nothing in between goes to memory as floats.
#include <algorithm>

#include "mplus/core/error.h"
#include "mplus/kernels/cpu/ops/linear_cuts.h"
#include "mplus/kernels/cpu/state.h"
#include "mplus/kernels/isa.h"

namespace mplus::kernels::cpu {
namespace {

constexpr std::size_t kMostOutputs = kMostProducts / 2;

bool folds(const Queue& queue, const AdaptedOutput& output, Rows rows) {
  const auto rounded = [&](const Matrix& w) { return path_of(queue, w, rows) == Path::rounded; };
  if (!rounded(*output.base) || output.base->dtype == DType::i8) return false;
  const LowRank& adapter = output.adapter;
  return adapter.a.empty() || (rounded(adapter.a) && adapter.b.cols <= kMostLow &&
                               (is_float(adapter.b.dtype) || adapter.b.dtype == DType::i8));
}

bool folds(const Queue& queue, std::int64_t T, std::span<const AdaptedOutput> outputs, Rows rows) {
  return table().gated != nullptr && T > 0 && std::ranges::all_of(outputs, [&](const AdaptedOutput& output) {
           return folds(queue, output, rows);
         });
}

struct Inputs {
  const float* x = nullptr;
  std::int64_t T = 0, columns = 0;
  std::byte* rounded = nullptr;
  std::byte* low[kMostOutputs] = {};  // room for the inner halves
};

// In one arena: rows of x, unless they are rounded already, then the inner halves'.
Inputs round_x(Queue& queue, ConstTensor x, std::span<const AdaptedOutput> outputs, Rows rows) {
  const Table& isa = table();
  Inputs in{x.on_host<float>(), x.size(0), x.size(1), nullptr, {}};
  RoundedRows& left = static_cast<State&>(queue.state()).rounded;
  const bool is_left = left.x == in.x && left.T == in.T && left.columns == in.columns;
  std::size_t size = is_left ? 0 : isa.rounded_bytes(in.T, in.columns);
  for (const AdaptedOutput& output : outputs) size += isa.rounded_bytes(in.T, output.adapter.a.rows);
  std::byte* memory = queue.shared_scratch(size);
  if (is_left) {
    in.rounded = left.bytes.data();
  } else {
    in.rounded = memory;
    memory += isa.rounded_bytes(in.T, in.columns);
    const Product product{.w = outputs.front().base, .options = {.rows = rows}};
    round_inputs(queue, make_job(product, in.x, in.T), in.rounded);
  }
  left.x = nullptr;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    in.low[i] = memory;
    memory += isa.rounded_bytes(in.T, outputs[i].adapter.a.rows);
  }
  return in;
}

Cut cut_of(Queue& queue, const Inputs& in, const Product& product) {
  Cut cut;
  cut.job = make_job(product, in.x, in.T);
  cut.job.rounded = in.rounded;
  cut.path = Path::rounded;
  return cut_batch(cut, queue.pool().size()), cut;
}

// The inner halves, rounded, to in.low.
void run_inner(Queue& queue, const Inputs& in, std::span<const AdaptedOutput> outputs, Rows rows) {
  Cut cuts[kMostOutputs];
  std::size_t n = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const LowRank& adapter = outputs[i].adapter;
    if (adapter.a.empty()) continue;
    cuts[n] = cut_of(queue, in, {.w = &adapter.a, .options = {.rows = rows}});
    cuts[n++].job.rounded_out = in.low[i];
  }
  run_cuts(queue, {cuts, n});
}

// The product of output i with its addition.
Cut adapted_cut(Queue& queue, const Inputs& in, const AdaptedOutput& output, std::size_t i, Rows rows) {
  const Product product{output.out.on_host<float>(),
                        output.base,
                        {.accumulate = output.accumulate, .rows = rows},
                        output.out.stride(0)};
  Cut cut = cut_of(queue, in, product);
  const auto& [a, b, scale, low] = output.adapter;
  if (a.empty()) return cut;
  MPLUS_CHECK(b.dtype != DType::i8 || b.row_scales != nullptr, "i8 weights without row scales");
  cut.job.low = {in.low[i], static_cast<const std::byte*>(b.data),         b.row_scales, b.dtype,
                 b.cols,    static_cast<std::int64_t>(b.row_size_bytes()), scale,        b.interleaved};
  return cut;
}

}  // namespace

bool linear_adapted(Queue& queue, ConstTensor x, std::span<const AdaptedOutput> outputs, Rows rows) {
  if (!folds(queue, x.size(0), outputs, rows)) {
    MPLUS_CHECK(static_cast<State&>(queue.state()).rounded.x != x.data,
                "rows that were left for other products");
    return false;
  }
  const Inputs in = round_x(queue, x, outputs, rows);
  run_inner(queue, in, outputs, rows);
  Cut cuts[kMostOutputs];
  for (std::size_t i = 0; i < outputs.size(); ++i) cuts[i] = adapted_cut(queue, in, outputs[i], i, rows);
  run_cuts(queue, {cuts, outputs.size()});
  return true;
}

bool swiglu_adapted(Queue& queue, ConstTensor x, std::span<const AdaptedOutput, 2> both, Rows rows,
                    ResultUse use) {
  RoundedRows& left = static_cast<State&>(queue.state()).rounded;
  left.x = nullptr;
  if (!folds(queue, x.size(0), both, rows)) return false;
  const Inputs in = round_x(queue, x, both, rows);
  run_inner(queue, in, both, rows);
  Cut cut = adapted_cut(queue, in, both[0], 0, rows);
  cut.up = adapted_cut(queue, in, both[1], 1, rows).job;
  cut.gated = true;
  cut_batch(cut, queue.pool().size());
  if (use == ResultUse::products) {
    const std::int64_t columns = both[0].base->rows;
    left.bytes.resize(std::max(left.bytes.size(), table().rounded_bytes(in.T, columns)));
    left.x = both[0].out.on_host<float>();
    left.T = in.T;
    left.columns = columns;
    cut.job.rounded_out = left.bytes.data();
  }
  run_cuts(queue, {&cut, 1});
  return true;
}

}  // namespace mplus::kernels::cpu
