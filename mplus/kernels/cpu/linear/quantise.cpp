// Activations to integers in blocks of 32: scale = max|x| / 16256, v = x / scale to the nearest integer, and
// v = 128 q + q' with |q| ≤ 127, -64 ≤ q' < 64.
#include "mplus/kernels/cpu/kernels.h"
#include "mplus/kernels/cpu/simd/simd.h"

namespace mplus::kernels::MPLUS_ISA {
namespace {

constexpr int kVectors = 32 / kLanes;

// Where vectors v and v + 1 of a term's bytes go; v is even.
MPLUS_INLINE std::int8_t* place(const QuantisedRows& to, std::int64_t at, int v) {
#if defined(MPLUS_MATRIX_I8)
  // Neighbouring rows, or both terms of a row alone, share sixteen bytes: eight columns of one, then of the
  // other.
  return to.q + (at - at % 2) * 32 + v / 2 * 16 + at % 2 * 8;
#else
  return to.q + at * 32 + v * kLanes;
#endif
}

// A block's scale and its share of the minimum.
MPLUS_INLINE void put_scales(const QuantisedRows& to, std::int64_t block, float scale, float total) {
#if defined(MPLUS_MATRIX_I8)
  if (to.group > 1) {  // of a pair of rows: scales, then shares, each twice
    float* scales = to.scales + block / 2 * 8 + block % 2 * 2;
    scales[0] = scales[1] = scale;
    scales[4] = scales[5] = total;
    return;
  }
#endif
  to.scales[2 * block] = scale;
  to.scales[2 * block + 1] = total;
}

constexpr float kLargest = 127 << kTermBits;

MPLUS_INLINE I first_term(I q) { return (q + (1 << (kTermBits - 1))) >> kTermBits; }

// The integers of vectors v and v + 1: both terms, or whole where tiles of rows read them so.
MPLUS_INLINE void put_integers(const QuantisedRows& to, [[maybe_unused]] std::int64_t block, std::int64_t at,
                               int v, I a, I b) {
#if defined(MPLUS_WIDE_I8)
  if (to.group > 1) {
    std::int8_t* whole = to.q + block * kTerms * 32 + v * kLanes * 2;
    narrow_u16(whole, a & 0xffff);
    return narrow_u16(whole + kLanes * 2, b & 0xffff);
  }
#endif
  const I first_a = first_term(a), first_b = first_term(b);
  narrow_i8(place(to, at, v), first_a, first_b);
  narrow_i8(place(to, at + to.group, v), a - (first_a << kTermBits), b - (first_b << kTermBits));
}

// Block `block` of all, whose terms stand at `at` and at + to.group. poison: 0, or NaN if one of them is no
// finite number, which integers cannot say.
MPLUS_INLINE void quantise_block(const QuantisedRows& to, std::int64_t block, std::int64_t at,
                                 const F (&x)[kVectors], float poison) {
  F largest{};
  for (int v = 0; v < kVectors; ++v) largest = max(largest, as_float(as_int(x[v]) & 0x7fffffff));
  const float maximum = max_lane(largest);
  const float scale = maximum / kLargest;
  // A block of next to nothing has no useful inverse: it counts as zero.
  const float inverse = scale >= 0x1p-120f ? kLargest / maximum : 0.0f;
  I total{};
  for (int v = 0; v < kVectors; v += 2) {
    const I a = round_to_int(x[v] * inverse), b = round_to_int(x[v + 1] * inverse);
    put_integers(to, block, at, v, a, b);
    total = total + a + b;
  }
  const std::int32_t count = sum(total);
  put_scales(to, block, scale + poison, scale * static_cast<float>(count));
  to.sums[block] = count;
}

}  // namespace

void quantise(const LinearJob& job, std::int64_t t0, std::int64_t t1) {
  const QuantisedRows& to = job.quantised;
  const std::int64_t blocks = job.inputs / 32;
  for (std::int64_t t = t0; t < t1; ++t) {
    const std::int64_t before = t / to.group * blocks;  // blocks of this row's place in the group
    for (std::int64_t b = 0; b < blocks; ++b) {
      F x[kVectors];
      F poison{};
      for (int v = 0; v < kVectors; ++v) {
        x[v] = load(job.x + t * job.inputs + b * 32 + v * kLanes);
        poison = fma(x[v], F{}, poison);
      }
      const std::int64_t block = (before + b) * to.group + t % to.group;
      quantise_block(to, block, (before + b) * kTerms * to.group + t % to.group, x, sum(poison));
    }
  }
}

}  // namespace mplus::kernels::MPLUS_ISA
