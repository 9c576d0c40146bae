// out[T,o] by matrix instructions on bf16: a panel of weights is turned into bf16 once, then all rows of x,
// rounded to bf16 before (round_rows), run through it; sums are f32. Weights of i8 keep their codes, which
// bf16 holds exactly, and meet their rows' scales at the end.
#include "mplus/kernels/cpu/codes/lane_codes.h"
#include "mplus/kernels/cpu/kernels.h"
#include "mplus/kernels/cpu/linear/outputs.h"

namespace mplus::kernels::MPLUS_ISA {

#if defined(MPLUS_MATRIX_BF16)
namespace {

// A tile is [kRows, kOutputs]. One step takes four columns of it: sixteen bytes hold four columns of one row
// (output), then of its neighbour.
constexpr int kRows = kTileRowsRounded;
constexpr int kOutputs = kPanelRounded;
constexpr int kColumns = 4;
constexpr std::int64_t kStepRows = kRows * kColumns;  // elements of one step
constexpr std::int64_t kStepOutputs = kOutputs * kColumns;
static_assert(kRows == 8 && kOutputs == 12, "the registers of sum_tile");

// For each of four outputs, where its four bytes are, each between the bytes of 2^23.
alignas(16) constexpr std::uint8_t kPlaces[4][16] = {
    {0, 16, 16, 19, 1, 16, 16, 19, 2, 16, 16, 19, 3, 16, 16, 19},
    {4, 16, 16, 19, 5, 16, 16, 19, 6, 16, 16, 19, 7, 16, 16, 19},
    {8, 16, 16, 19, 9, 16, 16, 19, 10, 16, 16, 19, 11, 16, 16, 19},
    {12, 16, 16, 19, 13, 16, 16, 19, 14, 16, 16, 19, 15, 16, 16, 19}};

// Four columns of each of four outputs as floats. A byte u below the bits of 2^23 makes 2^23 + u: a
// conversion from integers takes four times as long.
template <DType kType>
MPLUS_INLINE void code_floats(F (&out)[4], I word) {
  constexpr std::uint8_t kFlip = has_signed_codes(kType) ? 0x80 : 0;
  constexpr float kBegin = 0x1p23f + static_cast<float>(kFlip + code_offset(kType));
  const uint8x16x2_t both{veorq_u8(vreinterpretq_u8_s8(bytes(word)), vdupq_n_u8(kFlip)),
                          vreinterpretq_u8_u32(vdupq_n_u32(0x4b000000))};
  MPLUS_UNROLL for (int o = 0; o < 4; ++o) {
    out[o] = floats(vreinterpretq_f32_u8(vqtbl2q_u8(both, load_bits<uint8x16_t>(kPlaces[o])))) - kBegin;
  }
}

// Codes of four outputs: two steps' worth of pairs for every four columns.
template <DType kType, class Rows>
MPLUS_INLINE void pack_lanes(std::uint16_t* out, const LinearJob& job, const Rows& rows) {
  for_lane_blocks<kType, Order::lanes>(rows, job.inputs, [&](std::int64_t b, const LaneCodes& block) {
    std::uint16_t* to = out + b * (kQuantBlock / kColumns) * kStepOutputs;
    MPLUS_UNROLL for (int k = 0; k < 8; ++k, to += kStepOutputs) {
      const F scale = has_half_scales(kType) && k >= 4 ? block.second : block.scale;
      F value[4];
      code_floats<kType>(value, block.words[k]);
      MPLUS_UNROLL for (int o = 0; o < 4; ++o) {
        if constexpr (kType == DType::i8) continue;
        value[o] = value[o] * scale[o];
        if constexpr (has_minimum(kType)) value[o] = value[o] + block.second[o];
      }
      vst1q_u16(to, to_bf16(value[0], value[1]));
      vst1q_u16(to + 8, to_bf16(value[2], value[3]));
    }
  });
}

template <DType kType>
void pack(std::uint16_t* out, const LinearJob& job, std::int64_t row0) {
  const std::int64_t last = (job.outputs - 1) / kLanes * kLanes;  // lanes past the end repeat the last row
  for (int n = 0; n < kOutputs / kLanes; ++n, out += kLanes * kColumns) {
    const std::int64_t row = min_of<std::int64_t>(row0 + n * kLanes, last);
    if (job.interleaved) {
      pack_lanes<kType>(out, job, interleaved_rows(job, row, job.outputs));
    } else {
      pack_lanes<kType>(out, job, lane_rows(job, row, job.outputs));
    }
  }
}

#define MPLUS_FOUR(acc0, acc1, acc2, acc3, w) \
  "bfmmla v" #acc0 ".4s, v0.8h, v" #w         \
  ".8h\n"                                     \
  "bfmmla v" #acc1 ".4s, v1.8h, v" #w         \
  ".8h\n"                                     \
  "bfmmla v" #acc2 ".4s, v2.8h, v" #w         \
  ".8h\n"                                     \
  "bfmmla v" #acc3 ".4s, v3.8h, v" #w ".8h\n"
#define MPLUS_ZERO(a, b, c, d) \
  "movi v" #a ".4s, #0\n movi v" #b ".4s, #0\n movi v" #c ".4s, #0\n movi v" #d ".4s, #0\n"

// sums[j][p]: outputs 2j and 2j + 1 of row 2p, then of row 2p + 1. All 24 sums and what a step needs are the
// 32 registers; left to a compiler, some sums live in memory.
MPLUS_INLINE void sum_tile(F (&sums)[kOutputs / 2][kRows / 2], const std::uint16_t* x, const std::uint16_t* w,
                           std::int64_t steps) {
  asm volatile(
      MPLUS_ZERO(8, 9, 10, 11) MPLUS_ZERO(12, 13, 14, 15) MPLUS_ZERO(16, 17, 18, 19)
      MPLUS_ZERO(20, 21, 22, 23) MPLUS_ZERO(24, 25, 26, 27) MPLUS_ZERO(28, 29, 30, 31)
      "cbz %[steps], 2f\n"
      "1:\n"
      "ldp q0, q1, [%[x]], #64\n"
      "ldp q4, q5, [%[w]], #96\n"
      "ldp q2, q3, [%[x], #-32]\n"
      "ldp q6, q7, [%[w], #-64]\n"
      "subs %[steps], %[steps], #1\n"
      MPLUS_FOUR(8, 9, 10, 11, 4) MPLUS_FOUR(12, 13, 14, 15, 5)
      "ldp q4, q5, [%[w], #-32]\n"
      MPLUS_FOUR(16, 17, 18, 19, 6) MPLUS_FOUR(20, 21, 22, 23, 7)
      MPLUS_FOUR(24, 25, 26, 27, 4) MPLUS_FOUR(28, 29, 30, 31, 5)
      "b.ne 1b\n"
      "2:\n"
      "stp q8, q9, [%[sums]]\n stp q10, q11, [%[sums], #32]\n"
      "stp q12, q13, [%[sums], #64]\n stp q14, q15, [%[sums], #96]\n"
      "stp q16, q17, [%[sums], #128]\n stp q18, q19, [%[sums], #160]\n"
      "stp q20, q21, [%[sums], #192]\n stp q22, q23, [%[sums], #224]\n"
      "stp q24, q25, [%[sums], #256]\n stp q26, q27, [%[sums], #288]\n"
      "stp q28, q29, [%[sums], #320]\n stp q30, q31, [%[sums], #352]\n"
      : [x] "+r"(x), [w] "+r"(w), [steps] "+r"(steps)
      : [sums] "r"(&sums[0][0])
      : "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12",
        "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26",
        "v27", "v28", "v29", "v30", "v31");
}

#undef MPLUS_FOUR
#undef MPLUS_ZERO

void put_tile(const LinearJob& job, const F (&sums)[kOutputs / 2][kRows / 2], std::int64_t t,
              std::int64_t row0) {
  const std::int64_t rows = min_of<std::int64_t>(kRows, job.T - t);
  for (int n = 0; n < kOutputs / kLanes; ++n) {
    const std::int64_t first = row0 + n * kLanes, valid = job.outputs - first;
    F scale = splat(job.scale);
    if (job.dtype == DType::i8)
      scale = scale * lane_rows(job, min_of(first, job.outputs - 1), job.outputs).scales;
    for (std::int64_t m = 0; m < rows; ++m) {
      const auto a = reinterpret_cast<float64x2_t>(sums[2 * n][m / 2]);
      const auto b = reinterpret_cast<float64x2_t>(sums[2 * n + 1][m / 2]);
      const F value = reinterpret_cast<F>(m % 2 == 0 ? vzip1q_f64(a, b) : vzip2q_f64(a, b));
      put_values(job, job.out + (t + m) * job.out_stride + first, value * scale, valid);
    }
  }
}

}  // namespace

std::size_t rounded_bytes(std::int64_t T, std::int64_t inputs) {
  return static_cast<std::size_t>((T + kRows - 1) / kRows * kRows * inputs) * sizeof(std::uint16_t);
}

void round_rows(const LinearJob& job, std::int64_t t0, std::int64_t t1) {
  const std::int64_t steps = job.inputs / kColumns;
  for (std::int64_t t = t0; t < t1; t += 2) {
    const float* a = job.x + t * job.inputs;
    const float* b = t + 1 < job.T ? a + job.inputs : a;  // nobody looks at what the last pair lacks
    std::uint16_t* to =
        reinterpret_cast<std::uint16_t*>(job.rounded) + t / kRows * steps * kStepRows + t % kRows / 2 * 8;
    for (std::int64_t k = 0; k < steps; ++k, to += kStepRows)
      vst1q_u16(to, to_bf16(load(a + k * kColumns), load(b + k * kColumns)));
  }
}

std::size_t batched_rounded_scratch(std::int64_t inputs, const Share&) {
  return static_cast<std::size_t>(kOutputs * inputs) * sizeof(std::uint16_t);
}

void batched_rounded(const LinearJob& job, const Share& share, std::byte* scratch) {
  auto* packed = reinterpret_cast<std::uint16_t*>(scratch);
  for (std::int64_t row0 = share.panel0 * kOutputs; row0 < share.panel1 * kOutputs; row0 += kOutputs) {
    for_code_type(job.dtype, [&]<DType kType>() { pack<kType>(packed, job, row0); });
    for (std::int64_t t = share.t0; t < share.t1; t += kRows) {
      F sums[kOutputs / 2][kRows / 2];
      sum_tile(sums, reinterpret_cast<const std::uint16_t*>(job.rounded) + t * job.inputs, packed,
               job.inputs / kColumns);
      put_tile(job, sums, t, row0);
    }
  }
}
#endif

}  // namespace mplus::kernels::MPLUS_ISA
