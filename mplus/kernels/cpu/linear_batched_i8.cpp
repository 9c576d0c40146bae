// out[T,o] with int8 activations: inside a block of 32 the products are integers and exact; block results
// meet their scales in f32, in the order of the blocks.
#include "mplus/kernels/cpu/kernels.h"
#include "mplus/kernels/cpu/lane_codes.h"
#include "mplus/kernels/cpu/tile.h"
#if defined(MPLUS_MATRIX_I8)
#include "mplus/kernels/cpu/i8_tile_matrix.h"
#else
#include "mplus/kernels/cpu/i8_tile_dot.h"
#endif

namespace mplus::kernels::MPLUS_ISA {
namespace {

using PackedBlock = LaneCodes;

template <DType kType>
void pack(PackedBlock* out, const LinearJob& job, std::int64_t row0) {
  constexpr std::int64_t kBytes = kType == DType::q8_0 ? 34 : kType == DType::q4_0 ? 18 : 20;
  constexpr std::int64_t kHead = kType == DType::q4_1 ? 4 : 2;
  const std::byte* base = job.w + row0 * job.row_bytes;
  I offsets{};
  for (int lane = 0; lane < kLanes; ++lane) {
    const std::int64_t row = min_of<std::int64_t>(lane, job.outputs - 1 - row0);
    offsets[lane] = static_cast<std::int32_t>(row * job.row_bytes);
  }
  if constexpr (has_codes(kType)) {
    for (std::int64_t b = 0; b < job.inputs / 32; ++b) {
      out[b] = lane_codes<kType>(base, offsets, b);
      arrange(out[b]);
    }
    return;
  }
  for (std::int64_t b = 0; b < job.inputs / 32; ++b, base += kBytes, ++out) {
    const I head = gather(base, offsets);
    out->scale = half_to_float(head & 0xffff);
    out->second = half_to_float(shift_right_logical(head, 16));
    if constexpr (kType == DType::q8_0) {
      constexpr std::int32_t kFlip = kByteOffset == 0 ? 0 : static_cast<std::int32_t>(0x80808080u);
      for (int k = 0; k < 8; ++k) out->words[k] = gather(base + kHead + 4 * k, offsets) ^ kFlip;
    } else {
      for (int k = 0; k < 4; ++k) {
        const I word = gather(base + kHead + 4 * k, offsets);
        out->words[k] = word & 0x0f0f0f0f;
        out->words[4 + k] = (word >> 4) & 0x0f0f0f0f;
      }
    }
    arrange(*out);
  }
}

template <int M, DType kType>
MPLUS_INLINE void rows(const LinearJob& job, const PackedBlock* w, std::int64_t t, std::int64_t row0) {
  F acc[M] = {};
  sum_rows<M, kType>(acc, job, w, t);
  const std::int64_t valid = job.outputs - row0;
  MPLUS_UNROLL for (int m = 0; m < M; ++m) {
    float* out = job.out + (t + m) * job.out_stride + row0;
    const F value = acc[m] * job.scale;
    if (valid >= kLanes) {
      store(out, job.accumulate ? load(out) + value : value);
    } else {
      store_partial(out, job.accumulate ? load_partial(out, valid) + value : value, valid);
    }
  }
}

template <DType kType>
void run(const LinearJob& job, std::int64_t row0, std::int64_t t0, std::int64_t t1, PackedBlock* packed) {
  pack<kType>(packed, job, row0);
  for_tiles<kTileRowsI8>(t0, t1, [&]<int M>(std::int64_t t) { rows<M, kType>(job, packed, t, row0); });
}

}  // namespace

std::size_t batched_i8_scratch(std::int64_t inputs) {
  return static_cast<std::size_t>(inputs / 32) * sizeof(PackedBlock);
}

void batched_i8(const LinearJob& job, std::int64_t panel, std::int64_t t0, std::int64_t t1,
                std::byte* scratch) {
  auto* packed = reinterpret_cast<PackedBlock*>(scratch);
  const std::int64_t row0 = panel * kLanes;
  if (job.dtype == DType::q8_0) run<DType::q8_0>(job, row0, t0, t1, packed);
  if (job.dtype == DType::q4_0) run<DType::q4_0>(job, row0, t0, t1, packed);
  if (job.dtype == DType::q4_1) run<DType::q4_1>(job, row0, t0, t1, packed);
  if (job.dtype == DType::q5_0) run<DType::q5_0>(job, row0, t0, t1, packed);
  if (job.dtype == DType::q5_1) run<DType::q5_1>(job, row0, t0, t1, packed);
  if (job.dtype == DType::q4_k) run<DType::q4_k>(job, row0, t0, t1, packed);
  if (job.dtype == DType::q5_k) run<DType::q5_k>(job, row0, t0, t1, packed);
  if (job.dtype == DType::q6_k) run<DType::q6_k>(job, row0, t0, t1, packed);
}

}  // namespace mplus::kernels::MPLUS_ISA
