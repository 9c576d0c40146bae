#include "mplus/kernels/cpu/ops/operations.h"

#include <algorithm>
#include <limits>

#include "mplus/core/error.h"
#include "mplus/kernels/cpu/ops/linear_cuts.h"
#include "mplus/kernels/isa.h"
#include "mplus/kernels/parallel.h"

namespace mplus::kernels::cpu {
namespace {

// The rounded rows of x, in groups of `group`, for every product with integers.
QuantisedRows quantise_inputs(Queue& queue, const LinearJob& job, std::int64_t group) {
  const std::int64_t blocks = (job.T + group - 1) / group * group * (job.inputs / kQuantBlock);
  std::byte* memory = queue.shared_scratch(static_cast<std::size_t>(blocks) * (kTerms * 32 + 5 * 4));
  LinearJob rows = job;
  rows.quantised.group = group;
  rows.quantised.q = reinterpret_cast<std::int8_t*>(memory);
  memory += blocks * kTerms * 32;
  rows.quantised.scales = reinterpret_cast<float*>(memory);
  rows.quantised.sums = reinterpret_cast<std::int32_t*>(memory + blocks * 16);
  parallel_ranges(queue, job.T, 2 * job.inputs,
                  [&](std::int64_t t0, std::int64_t t1) { table().quantise(rows, t0, t1); });
  return rows.quantised;
}

// Panels of an item: as many as leave every thread some items.
std::int64_t panels_of(std::int64_t panels, int threads) {
  return std::clamp<std::int64_t>(panels / (std::int64_t{3} * threads), 1, table().most_panels);
}

Share share_of(const Cut& cut, std::int64_t item) {
  const std::int64_t width = table().panel_rounded, panels = (cut.job.outputs + width - 1) / width;
  const std::int64_t panel = item / cut.shares * cut.size, t = item % cut.shares * cut.share;
  return {panel, std::min(panels, panel + cut.size), t, std::min(cut.job.T, t + cut.share)};
}

void run_rounded(const Cut& cut, std::int64_t item, std::byte* scratch) {
  const Share share = share_of(cut, item);
  if (share.t0 >= share.t1) return;
  if (cut.gated) return table().gated(cut.job, cut.up, share, scratch);
  table().batched_rounded(cut.job, share, scratch);
}

// Of a whole item; the end, behind the last.
std::int64_t first_output(const Cut& cut, std::int64_t item) {
  const std::int64_t large = std::min(item, cut.large);
  return std::min(cut.job.outputs, large * cut.large_size + (item - large) * cut.size);
}

void run_item(const Cut& cut, std::int64_t item, std::byte* scratch) {
  const Table& isa = table();
  if (cut.whole) {
    const auto run = !cut.single ? isa.few_i8 : cut.path == Path::i8 ? isa.vector_i8 : isa.vector_f32;
    return run(cut.job, first_output(cut, item), first_output(cut, item + 1));
  }
  if (cut.path == Path::rounded) return run_rounded(cut, item, scratch);
  const auto run = cut.path == Path::i8 ? isa.batched_i8 : isa.batched_f32;
  const std::int64_t t0 = item % cut.shares * cut.share;
  const std::int64_t t1 = std::min(cut.job.T, t0 + cut.share);
  if (t0 < t1) run(cut.job, item / cut.shares, t0, t1, scratch);
}

std::size_t scratch_of(const Cut& cut) {
  const Table& isa = table();
  if (cut.path == Path::i8) return isa.batched_i8_scratch(cut.job.inputs);
  if (cut.path == Path::f32) return isa.batched_f32_scratch(cut.job.inputs);
  const Share largest{0, cut.size, 0, cut.share};
  return cut.gated ? isa.gated_scratch(cut.job, largest)
                   : isa.batched_rounded_scratch(cut.job.inputs, largest);
}

}  // namespace

LinearJob make_job(const Product& product, const float* x, std::int64_t T) {
  const Matrix& w = *product.w;
  if (!is_float(w.dtype) && !is_quantised(w.dtype) && w.dtype != DType::i8)
    fail(ErrorCode::unsupported,
         "linear: weights of type {}: expected F32, F16, BF16, I8 or a quantised type", dtype_name(w.dtype));
  if (w.cols % block_elements(w.dtype) != 0)
    fail(ErrorCode::invalid_argument, "linear: {} weights with {} columns: expected a multiple of {}",
         dtype_name(w.dtype), w.cols, block_elements(w.dtype));
  MPLUS_CHECK(w.dtype != DType::i8 || w.row_scales != nullptr, "i8 weights [{}, {}] without row scales",
              w.rows, w.cols);
  const auto row_size = static_cast<std::int64_t>(w.row_size_bytes());
  MPLUS_CHECK(row_size * table().panel < std::numeric_limits<std::int32_t>::max(), "row of {} bytes",
              row_size);
  return {.out = product.out,
          .x = x,
          .w = static_cast<const std::byte*>(w.data),
          .row_scales = w.row_scales,
          .dtype = w.dtype,
          .T = T,
          .inputs = w.cols,
          .outputs = w.rows,
          .row_bytes = row_size,
          .out_stride = product.out_stride == 0 ? w.rows : product.out_stride,
          .scale = product.options.scale,
          .accumulate = product.options.accumulate,
          .interleaved = w.interleaved,
          .quantised = {}};
}

bool meets_integers(const Matrix& w) {
  return is_quantised(w.dtype) || (w.dtype == DType::i8 && w.cols % kQuantBlock == 0);
}

Path path_of(const Queue& queue, const Matrix& w, Rows rows) {
  if (queue.numerics() == Numerics::exact || !meets_integers(w)) return Path::f32;
  const bool many = rows == Rows::batched || (rows == Rows::some && table().short_rows == 0);
  return many && table().batched_rounded != nullptr ? Path::rounded : Path::i8;
}

void round_inputs(Queue& queue, const LinearJob& of, std::byte* rounded) {
  LinearJob job = of;
  job.rounded = rounded;
  parallel_ranges(queue, (job.T + 1) / 2, 2 * job.inputs, [&](std::int64_t begin, std::int64_t end) {
    table().round_rows(job, 2 * begin, std::min(job.T, 2 * end));
  });
}

// One large item for each thread, which is one stream from memory, then small ones, so that a late thread
// does not hold up the others.
void cut_outputs(Cut& cut, int threads) {
  const std::int64_t group = std::max<std::int64_t>(16, table().group_weights);
  const std::int64_t groups = (cut.job.outputs + group - 1) / group;
  const std::int64_t large = groups * 7 / 10 / threads;
  cut.large = large > 1 ? threads : 0;
  cut.large_size = large * group;
  const std::int64_t rest = groups - cut.large * large, pieces = std::int64_t{4} * threads;
  cut.size = std::max<std::int64_t>(1, (rest + pieces - 1) / pieces) * group;
  cut.items = cut.large + (rest * group + cut.size - 1) / cut.size;
  cut.work = cut.job.inputs * cut.job.outputs * (cut.job.T + 3) / 16;  // decoding is cheap per weight
}

void cut_batch(Cut& cut, int threads) {
  const Table& isa = table();
  const LinearJob& job = cut.job;
  const bool rounded = cut.path == Path::rounded;
  const std::int64_t width = rounded ? isa.panel_rounded : cut.path == Path::i8 ? isa.panel_i8 : isa.panel;
  const std::int64_t panels = (job.outputs + width - 1) / width;
  cut.size = rounded ? panels_of(panels, threads) : 1;
  const std::int64_t pieces = (panels + cut.size - 1) / cut.size;
  const std::int64_t wanted = (2 * threads + pieces - 1) / pieces;
  cut.shares = threads == 1 ? 1 : std::clamp<std::int64_t>((job.T + 63) / 64, 1, wanted);
  // Whole groups of rows: a tile of an item never straddles two of them.
  const std::int64_t group = rounded ? isa.group_rounded : isa.group_i8;
  cut.share = ((job.T + cut.shares - 1) / cut.shares + group - 1) / group * group;
  cut.scratch_size = scratch_of(cut);
  cut.items = pieces * cut.shares;
  cut.work = job.inputs * job.outputs * (job.T + 8) / 16;
}

void run_cuts(Queue& queue, std::span<const Cut> cuts) {
  std::size_t scratch_size = 0;
  std::int64_t items = 0, work = 0;
  for (const Cut& cut : cuts) {
    items += cut.items;
    work += cut.work;
    scratch_size = std::max(scratch_size, cut.scratch_size);
  }
  for (int worker = 0; worker < queue.pool().size(); ++worker) queue.scratch(worker, scratch_size);
  parallel(queue, items, work, [&](std::int64_t item, int worker) {
    const Cut* cut = cuts.data();
    for (; item >= cut->items; ++cut) item -= cut->items;
    run_item(*cut, item, queue.scratch(worker, scratch_size));
  });
}

void linear(Queue& queue, float* out, const float* x, std::int64_t T, const Matrix& w,
            const LinearOptions& options) {
  const Product product{.out = out, .w = &w, .options = options};
  linear(queue, x, T, {&product, 1});
}

void linear(Queue& queue, const float* x, std::int64_t T, std::span<const Product> products) {
  MPLUS_CHECK(products.size() <= kMostProducts, "{} products at once", products.size());
  Cut cuts[kMostProducts];
  std::size_t n = 0;
  QuantisedRows quantised;
  std::byte* rounded = nullptr;
  for (const Product& p : products) {
    const Product& first = products.front();
    MPLUS_CHECK(p.w->cols == first.w->cols && p.options.rows == first.options.rows,
                "products of {} and {} inputs, or of different kinds", p.w->cols, first.w->cols);
    Cut& cut = cuts[n];
    cut.job = make_job(p, x, T);
    if (T <= 0 || p.w->rows <= 0) continue;
    cut.path = path_of(queue, *p.w, p.options.rows);
    MPLUS_CHECK(!p.w->interleaved || (cut.path != Path::f32 && table().interleave != nullptr),
                "interleaved weights of type {}", dtype_name(p.w->dtype));
    cut.single = T == 1 && p.options.rows == Rows::few;
    cut.whole = cut.single || (p.w->interleaved && cut.path == Path::i8 && table().few_i8 != nullptr);
    if (cut.path == Path::i8 && quantised.q == nullptr)
      quantised = quantise_inputs(queue, cut.job, cut.single ? 1 : table().group_i8);
    if (cut.path == Path::rounded && rounded == nullptr) {
      rounded = queue.shared_scratch(table().rounded_bytes(T, p.w->cols));
      round_inputs(queue, cut.job, rounded);
    }
    cut.job.quantised = quantised;
    cut.job.rounded = rounded;
    cut.whole ? cut_outputs(cut, queue.pool().size()) : cut_batch(cut, queue.pool().size());
    ++n;
  }
  run_cuts(queue, {cuts, n});
}

}  // namespace mplus::kernels::cpu
