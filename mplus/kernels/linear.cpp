#include "mplus/kernels/linear.h"

#include <algorithm>
#include <limits>

#include "mplus/core/error.h"
#include "mplus/kernels/isa.h"
#include "mplus/kernels/parallel.h"

namespace mplus::kernels {
namespace {

LinearJob make_job(float* out, const float* x, std::int64_t T, const Matrix& w,
                   const LinearOptions& options) {
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
  return {.out = out,
          .x = x,
          .w = static_cast<const std::byte*>(w.data),
          .row_scales = w.row_scales,
          .dtype = w.dtype,
          .T = T,
          .inputs = w.cols,
          .outputs = w.rows,
          .row_bytes = row_size,
          .out_stride = options.out_stride == 0 ? w.rows : options.out_stride,
          .scale = options.scale,
          .accumulate = options.accumulate,
          .quantised = {}};
}

void quantise_inputs(Context& context, LinearJob& job, std::int64_t group) {
  const std::int64_t terms = (job.T + group - 1) / group * group * (job.inputs / kQuantBlock) * kTerms;
  std::byte* memory = context.shared_scratch(static_cast<std::size_t>(terms) * (32 + 3 * 4));
  job.quantised.group = group;
  job.quantised.q = reinterpret_cast<std::int8_t*>(memory);
  memory += terms * 32;
  job.quantised.scales = reinterpret_cast<float*>(memory);
  job.quantised.bias = reinterpret_cast<std::int32_t*>(memory + terms * 8);
  parallel_ranges(context, job.T, 2 * job.inputs,
                  [&](std::int64_t t0, std::int64_t t1) { table().quantise(job, t0, t1); });
}

// One row: items of whole rows, several per thread so that a late thread does not hold up the others.
void multiply_vector(Context& context, const LinearJob& job, bool integer) {
  const auto run = integer ? table().vector_i8 : table().vector_f32;
  const std::int64_t work = job.inputs * job.outputs / 4;  // decoding is cheap per weight
  const std::int64_t pieces = std::int64_t{4} * context.pool().size();
  const std::int64_t size = std::max<std::int64_t>(16, ((job.outputs + pieces - 1) / pieces + 3) / 4 * 4);
  parallel(context, (job.outputs + size - 1) / size, work,
           [&](std::int64_t item, int) { run(job, item * size, std::min(job.outputs, (item + 1) * size)); });
}

// Many rows: an item is a panel of outputs, and a share of the rows where panels are too few for the threads.
void multiply_batch(Context& context, const LinearJob& job, bool integer) {
  const Table& isa = table();
  const auto run = integer ? isa.batched_i8 : isa.batched_f32;
  const std::int64_t width = integer ? isa.panel_i8 : isa.panel;
  const std::size_t scratch_size =
      integer ? isa.batched_i8_scratch(job.inputs) : isa.batched_f32_scratch(job.inputs);
  const std::int64_t panels = (job.outputs + width - 1) / width;
  const int threads = context.pool().size();
  const std::int64_t wanted = (2 * threads + panels - 1) / panels;
  const std::int64_t shares = threads == 1 ? 1 : std::clamp<std::int64_t>((job.T + 63) / 64, 1, wanted);
  // Whole groups of rows: a tile of an item never straddles two of them.
  const std::int64_t share = ((job.T + shares - 1) / shares + isa.group_i8 - 1) / isa.group_i8 * isa.group_i8;
  for (int worker = 0; worker < threads; ++worker) context.scratch(worker, scratch_size);
  const std::int64_t work = job.inputs * job.outputs * (job.T + 8) / 16;
  parallel(context, panels * shares, work, [&](std::int64_t item, int worker) {
    const std::int64_t t0 = item % shares * share;
    const std::int64_t t1 = std::min(job.T, t0 + share);
    if (t0 < t1) run(job, item / shares, t0, t1, context.scratch(worker, scratch_size));
  });
}

}  // namespace

void linear(Context& context, float* out, const float* x, std::int64_t T, const Matrix& w,
            const LinearOptions& options) {
  LinearJob job = make_job(out, x, T, w, options);
  if (T <= 0 || w.rows <= 0) return;
  const bool integer = context.numerics() == Numerics::fast && is_quantised(w.dtype);
  const bool single = T == 1 && options.rows == Rows::few;
  if (integer) quantise_inputs(context, job, single ? 1 : table().group_i8);
  if (single) {
    multiply_vector(context, job, integer);
  } else {
    multiply_batch(context, job, integer);
  }
}

}  // namespace mplus::kernels
