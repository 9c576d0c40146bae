// out[T,o] with int8 activations: inside a block of 32 the products are integers and exact; block results
// meet their scales in f32, in the order of the blocks.
#include <algorithm>
#include <utility>

#include "mplus/kernels/cpu/kernels.h"
#include "mplus/kernels/cpu/lane_codes.h"
#include "mplus/kernels/cpu/tile.h"

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
    for (std::int64_t b = 0; b < job.inputs / 32; ++b) out[b] = lane_codes<kType>(base, offsets, b);
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
  }
}

// dot += w · (word kWord of a row's block), in every lane.
template <int kWord, DType kType>
MPLUS_INLINE I dot_word(I dot, I w, const std::int8_t* q) {
#if defined(MPLUS_ISA_NEON) && defined(__ARM_FEATURE_DOTPROD)
  return ints(vdotq_laneq_s32(raw(dot), bytes(w), load_bits<int8x16_t>(q + kWord / 4 * 16), kWord % 4));
#else
  std::int32_t word;
  __builtin_memcpy(&word, q + 4 * kWord, 4);
  if constexpr (has_codes(kType) && !has_minimum(kType)) return dot4_signed(dot, w, splat(word));
  return kType == DType::q8_0 ? dot4(dot, w, splat(word)) : dot4_nibbles(dot, w, splat(word));
#endif
}

// The dot products of one block with R rows, in step: R chains hide the latency of one.
template <int R, DType kType, int... kWords>
MPLUS_INLINE void dot_rows(I (&dot)[R], const I (&words)[8], const std::int8_t* q, const std::int32_t* bias,
                           std::integer_sequence<int, kWords...>) {
  MPLUS_UNROLL for (int r = 0; r < R; ++r) dot[r] =
      kType == DType::q8_0 || kType == DType::q4_0 ? splat(bias[r]) : I{};
  const auto add_word = [&]<int kWord>() {
    MPLUS_UNROLL for (int r = 0; r < R; ++r) dot[r] =
        dot_word<kWord, kType>(dot[r], words[kWord], q + 32 * r);
  };
  (add_word.template operator()<kWords>(), ...);
}

// The words of a block's halves, where each has a scale of its own.
using FirstWords = std::integer_sequence<int, 0, 1, 2, 3>;
using LastWords = std::integer_sequence<int, 4, 5, 6, 7>;

template <int R>
MPLUS_INLINE void add_scaled(F* acc, const I (&dot)[R], F scale, const float* scales) {
  MPLUS_UNROLL for (int r = 0; r < R; ++r) acc[r] = fma(to_float(dot[r]), scale * scales[2 * r], acc[r]);
}

template <int M, DType kType>
MPLUS_INLINE void rows(const LinearJob& job, const PackedBlock* w, std::int64_t t, std::int64_t row0) {
  constexpr int kTogether = std::min(M, 4);
  const QuantisedRows& x = job.quantised;
  const std::int64_t blocks = job.inputs / 32;
  const std::int64_t first = t / x.group * blocks * kTerms * x.group + t % x.group;
  const std::int8_t* q = x.q + first * 32;
  const float* scales = x.scales + first * 2;
  const std::int32_t* bias = x.bias + first;
  F acc[M] = {};
  for (std::int64_t b = 0; b < blocks; ++b) {
    I words[8];
    MPLUS_UNROLL for (int k = 0; k < 8; ++k) words[k] = w[b].words[k];
    for (std::int64_t term = 0; term < kTerms; ++term) {
      MPLUS_UNROLL for (int m = 0; m < M; m += kTogether) {
        I dot[kTogether];
        if constexpr (has_half_scales(kType)) {
          dot_rows<kTogether, kType>(dot, words, q + m * 32, bias + m, FirstWords{});
          add_scaled(acc + m, dot, w[b].scale, scales + 2 * m);
          dot_rows<kTogether, kType>(dot, words, q + m * 32, bias + m, LastWords{});
          add_scaled(acc + m, dot, w[b].second, scales + 2 * m);
          continue;
        }
        dot_rows<kTogether, kType>(dot, words, q + m * 32, bias + m, std::make_integer_sequence<int, 8>{});
        MPLUS_UNROLL for (int r = 0; r < kTogether; ++r) {
          F& to = acc[m + r];
          to = fma(to_float(dot[r]), w[b].scale * scales[2 * (m + r)], to);
          if constexpr (has_minimum(kType)) to = fma(w[b].second, splat(scales[2 * (m + r) + 1]), to);
        }
      }
      q += kTileRowsI8 * 32;
      scales += kTileRowsI8 * 2;
      bias += kTileRowsI8;
    }
  }
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
