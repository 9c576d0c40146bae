// out[T,o] in f32: a panel of weights is turned into f32 columns once, then all rows of x run through it.
#include "mplus/kernels/cpu/codes/dequantise.h"
#include "mplus/kernels/cpu/codes/lane_codes.h"
#include "mplus/kernels/cpu/kernels.h"
#include "mplus/kernels/cpu/linear/tile.h"

namespace mplus::kernels::MPLUS_ISA {
namespace {

template <DType kType>
void pack_codes(float* out, const std::byte* base, I offsets, std::int64_t inputs) {
  for_lane_blocks<kType, Order::lanes>(
      LaneRows{base, offsets, F{}}, inputs, [&](std::int64_t, const LaneCodes& block) {
        for (int k = 0; k < 8; ++k) {
          const F scale = has_half_scales(kType) && k >= 4 ? block.second : block.scale;
          MPLUS_UNROLL for (int j = 0; j < 4; ++j) {
            F value = scale * to_float((block.words[k] << (24 - 8 * j)) >> 24);
            if constexpr (has_minimum(kType)) value = value + block.second;
            store(out, value);
            out += kPanel;
          }
        }
      });
}

// Lanes past the last row repeat it; their results are not stored.
template <DType kType>
void pack(float* out, const LinearJob& job, std::int64_t row0) {
  const std::byte* base = job.w + row0 * job.row_bytes;
  const std::int64_t last = job.outputs - 1 - row0;
  for (int n = 0; n < kTileVectors; ++n) {
    I offsets{};
    F row_scale{};
    for (int lane = 0; lane < kLanes; ++lane) {
      const std::int64_t row = min_of<std::int64_t>(n * kLanes + lane, last);
      offsets[lane] = static_cast<std::int32_t>(row * job.row_bytes);
      if (kType == DType::i8) row_scale[lane] = job.row_scales[row0 + row];
    }
    if constexpr (has_codes(kType)) {
      pack_codes<kType>(out + n * kLanes, base, offsets, job.inputs);
    } else if constexpr (is_quantised(kType)) {
      pack_blocks<kType>(out + n * kLanes, kPanel, base, offsets, job.inputs);
    } else {
      pack_columns<kType>(out + n * kLanes, kPanel, base, offsets, job.inputs, row_scale);
    }
  }
}

void pack_panel(float* out, const LinearJob& job, std::int64_t row0) {
  switch (job.dtype) {
    case DType::f32:
      return pack<DType::f32>(out, job, row0);
    case DType::f16:
      return pack<DType::f16>(out, job, row0);
    case DType::bf16:
      return pack<DType::bf16>(out, job, row0);
    case DType::i8:
      return pack<DType::i8>(out, job, row0);
    case DType::q8_0:
      return pack<DType::q8_0>(out, job, row0);
    case DType::q4_0:
      return pack<DType::q4_0>(out, job, row0);
    case DType::q4_1:
      return pack<DType::q4_1>(out, job, row0);
    case DType::q5_0:
      return pack<DType::q5_0>(out, job, row0);
    case DType::q5_1:
      return pack<DType::q5_1>(out, job, row0);
    case DType::q4_k:
      return pack<DType::q4_k>(out, job, row0);
    case DType::q5_k:
      return pack<DType::q5_k>(out, job, row0);
    case DType::q6_k:
      return pack<DType::q6_k>(out, job, row0);
    default:
      return;  // linear() lets no other type through
  }
}

template <int M>
MPLUS_INLINE void put_tile(const LinearJob& job, F (&acc)[M][kTileVectors], std::int64_t t,
                           std::int64_t row0) {
  float* out = job.out + t * job.out_stride + row0;
  const std::int64_t valid = min_of<std::int64_t>(kPanel, job.outputs - row0);
  MPLUS_UNROLL for (int m = 0; m < M; ++m) {
    MPLUS_UNROLL for (int n = 0; n < kTileVectors; ++n) {
      acc[m][n] = acc[m][n] * job.scale;
      if (job.accumulate && valid == kPanel)
        acc[m][n] = load(out + m * job.out_stride + n * kLanes) + acc[m][n];
    }
  }
  if (valid == kPanel) return store_tile(out, job.out_stride, acc);
  float whole[M * kPanel];
  store_tile(whole, kPanel, acc);
  for (int m = 0; m < M; ++m)
    for (std::int64_t o = 0; o < valid; ++o) {
      float& to = out[m * job.out_stride + o];
      to = job.accumulate ? to + whole[m * kPanel + o] : whole[m * kPanel + o];
    }
}

}  // namespace

std::size_t batched_f32_scratch(std::int64_t inputs) { return static_cast<std::size_t>(inputs * kPanel) * 4; }

void batched_f32(const LinearJob& job, std::int64_t panel, std::int64_t t0, std::int64_t t1,
                 std::byte* scratch) {
  const std::int64_t row0 = panel * kPanel;
  float* packed = reinterpret_cast<float*>(scratch);
  pack_panel(packed, job, row0);
  for_tiles<kTileRows>(t0, t1, [&]<int M>(std::int64_t t) {
    F acc[M][kTileVectors] = {};
    tile_of_rows(acc, job.x + t * job.inputs, job.inputs, packed, kPanel, job.inputs);
    put_tile(job, acc, t, row0);
  });
}

}  // namespace mplus::kernels::MPLUS_ISA
