// Activations to int8 in blocks of 32: scale = max|x| / 127, q = x / scale to the nearest integer; then the
// same with what is left over, x - scale * q.
#include "mplus/kernels/cpu/kernels.h"
#include "mplus/kernels/cpu/simd.h"

namespace mplus::kernels::MPLUS_ISA {
namespace {

constexpr int kVectors = 32 / kLanes;

MPLUS_INLINE std::int32_t weight_offset(DType dtype) {
  return dtype == DType::q8_0 ? kByteOffset : dtype == DType::q4_0 ? 8 : 0;
}

// Where vector v of a term's bytes goes.
MPLUS_INLINE std::int8_t* place(const QuantisedRows& to, std::int64_t at, int v) {
#if defined(MPLUS_MATRIX_I8)
  // Neighbouring rows share sixteen bytes: eight columns of one, then of the other.
  if (to.group > 1) return to.q + (at - at % 2) * 32 + v / 2 * 16 + at % 2 * 8 + v % 2 * 4;
#endif
  return to.q + at * 32 + v * kLanes;
}

// One term: x becomes what it leaves over.
MPLUS_INLINE void quantise_term(const QuantisedRows& to, std::int64_t at, F (&x)[kVectors],
                                std::int32_t offset) {
  F largest{};
  for (int v = 0; v < kVectors; ++v) largest = max(largest, as_float(as_int(x[v]) & 0x7fffffff));
  const float maximum = max_lane(largest);
  const float scale = maximum / 127.0f;
  // A block of next to nothing has no useful inverse: it counts as zero.
  const float inverse = scale >= 0x1p-120f ? 127.0f / maximum : 0.0f;
  I total{};
  for (int v = 0; v < kVectors; ++v) {
    const I q = round_to_int(x[v] * inverse);
    narrow_i8(place(to, at, v), q);
    total = total + q;
    x[v] = fma(to_float(q), splat(-scale), x[v]);
  }
  const std::int32_t count = sum(total);
  to.scales[2 * at] = scale;
  to.scales[2 * at + 1] = scale * static_cast<float>(count);
  to.bias[at] =
      static_cast<std::int32_t>(0u - static_cast<std::uint32_t>(offset) * static_cast<std::uint32_t>(count));
}

}  // namespace

void quantise(const LinearJob& job, std::int64_t t0, std::int64_t t1) {
  const QuantisedRows& to = job.quantised;
  const std::int32_t offset = weight_offset(job.dtype);
  const std::int64_t blocks = job.inputs / 32;
  for (std::int64_t t = t0; t < t1; ++t) {
    const std::int64_t first = t / to.group * blocks * kTerms * to.group + t % to.group;
    for (std::int64_t b = 0; b < blocks; ++b) {
      F x[kVectors];
      F poison{};  // 0, or NaN if one of them is no finite number: integers cannot say so
      for (int v = 0; v < kVectors; ++v) {
        x[v] = load(job.x + t * job.inputs + b * 32 + v * kLanes);
        poison = fma(x[v], F{}, poison);
      }
      for (std::int64_t m = 0; m < kTerms; ++m)
        quantise_term(to, first + (b * kTerms + m) * to.group, x, offset);
      to.scales[2 * (first + b * kTerms * to.group)] += sum(poison);
    }
  }
}

}  // namespace mplus::kernels::MPLUS_ISA
