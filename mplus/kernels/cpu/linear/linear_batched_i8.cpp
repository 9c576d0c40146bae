// out[T,o] with int8 activations: inside a block of 32 the products are integers and exact; block results
// meet their scales in f32, in the order of the blocks.
#include "mplus/kernels/cpu/codes/lane_codes.h"
#include "mplus/kernels/cpu/kernels.h"
#include "mplus/kernels/cpu/linear/outputs.h"
#include "mplus/kernels/cpu/linear/tile.h"
#if defined(MPLUS_MATRIX_I8)
#include "mplus/kernels/cpu/linear/i8_tile_matrix.h"
#else
#include "mplus/kernels/cpu/linear/i8_tile_dot.h"
#endif

namespace mplus::kernels::MPLUS_ISA {

#if !defined(MPLUS_WIDE_I8)
namespace {

// Lanes past the last row repeat it; their results are not stored.
template <DType kType>
void pack(LaneCodes* out, const LinearJob& job, std::int64_t row0) {
  const auto put = [&](std::int64_t b, LaneCodes& codes) {
    offset_codes<kType>(codes);
    out[b] = codes;
  };
#if defined(MPLUS_INTERLEAVED)
  if (job.interleaved)
    return for_lane_blocks<kType, kTileOrder>(interleaved_rows(job, row0, job.outputs), job.inputs, put);
#endif
  for_lane_blocks<kType, kTileOrder>(lane_rows(job, row0, job.outputs), job.inputs, put);
}

template <int M, DType kType>
MPLUS_INLINE void rows(const LinearJob& job, const LaneCodes* w, std::int64_t t, std::int64_t row0) {
  F acc[M] = {};
  sum_rows<M, kType>(acc, job, w, t);
  const std::int64_t valid = job.outputs - row0;
  MPLUS_UNROLL for (int m = 0; m < M; ++m) {
    put_outputs(job, job.out + (t + m) * job.out_stride + row0, acc[m], valid);
  }
}

template <DType kType>
void run(const LinearJob& job, std::int64_t row0, std::int64_t t0, std::int64_t t1, LaneCodes* packed) {
  pack<kType>(packed, job, row0);
  for_tiles<kTileRowsI8>(t0, t1, [&]<int M>(std::int64_t t) { rows<M, kType>(job, packed, t, row0); });
}

}  // namespace

std::size_t batched_i8_scratch(std::int64_t inputs) {
  return static_cast<std::size_t>(inputs / 32) * sizeof(LaneCodes);
}

void batched_i8(const LinearJob& job, std::int64_t panel, std::int64_t t0, std::int64_t t1,
                std::byte* scratch) {
  auto* packed = reinterpret_cast<LaneCodes*>(scratch);
  const std::int64_t row0 = panel * kPanelI8;
  for_code_type(job.dtype, [&]<DType kType>() { run<kType>(job, row0, t0, t1, packed); });
}
#endif

}  // namespace mplus::kernels::MPLUS_ISA
