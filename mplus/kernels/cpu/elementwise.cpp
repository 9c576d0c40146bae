// Norm, activations, rotation, conversion. A tail shorter than a vector goes through the same vector code, so
// an element's bits do not depend on where it stands.
#include "mplus/kernels/cpu/codes/dequantise.h"
#include "mplus/kernels/cpu/kernels.h"
#include "mplus/kernels/cpu/simd/math.h"

namespace mplus::kernels::MPLUS_ISA {
namespace {

template <class Function>
MPLUS_INLINE void map(float* out, const float* a, std::int64_t n, const Function& f) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(out + i, f(load(a + i)));
  if (i < n) store_partial(out + i, f(load_partial(a + i, n - i)), n - i);
}

template <class Function>
MPLUS_INLINE void map(float* out, const float* a, const float* b, std::int64_t n, const Function& f) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(out + i, f(load(a + i), load(b + i)));
  if (i < n) store_partial(out + i, f(load_partial(a + i, n - i), load_partial(b + i, n - i)), n - i);
}

// As f32_to_bf16 of core/numbers/float16.h.
MPLUS_INLINE I bf16_bits(F v) {
  const I bits = as_int(v);
  const I high = shift_right_logical(bits, 16);
  const I rounded = shift_right_logical(bits + 0x7fff + (high & 1), 16);
  return (bits & 0x7fffffff) > 0x7f800000 ? (high | 0x40) : rounded;
}

template <DType kType>
void widen_all(float* out, const std::byte* in, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(out + i, elements<kType>(in, i, 1.0f));
  for (; i < n; ++i) out[i] = element<kType>(in, i, 1.0f);
}

template <class Function>
void narrow_all(std::byte* out, const float* in, std::int64_t n, const Function& f) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) narrow_u16(out + 2 * i, f(load(in + i)));
  if (i == n) return;
  const I rest = f(load_partial(in + i, n - i));
  for (std::int64_t lane = 0; i < n; ++i, ++lane) {
    const auto h = static_cast<std::uint16_t>(rest[lane]);
    __builtin_memcpy(out + 2 * i, &h, 2);
  }
}

}  // namespace

void rms_norm_row(float* out, const float* x, const float* weight, std::int64_t d, float epsilon) {
  constexpr int kSums = 4;
  F acc[kSums] = {};
  std::int64_t i = 0;
  for (; i + kSums * kLanes <= d; i += kSums * kLanes) {
    MPLUS_UNROLL for (int v = 0; v < kSums; ++v) {
      const F part = load(x + i + v * kLanes);
      acc[v] = fma(part, part, acc[v]);
    }
  }
  for (; i < d; i += kLanes) {
    const F part = i + kLanes <= d ? load(x + i) : load_partial(x + i, d - i);
    acc[0] = fma(part, part, acc[0]);
  }
  const float total = sum((acc[0] + acc[1]) + (acc[2] + acc[3]));
  const F factor = splat(1.0f / __builtin_sqrtf(total / static_cast<float>(d) + epsilon));
  map(out, x, weight, d, [&](F a, F w) { return a * factor * w; });
}

void swiglu(float* out, const float* gate, const float* up, std::int64_t n) {
  map(out, gate, up, n, [](F g, F u) { return silu_of(g) * u; });
}
void silu(float* x, std::int64_t n) {
  map(x, x, n, [](F v) { return silu_of(v); });
}
void add(float* x, const float* y, std::int64_t n) {
  map(x, x, y, n, [](F a, F b) { return a + b; });
}

void rotate(float* out, const float* x, const float* cos, const float* sin, std::int64_t half) {
  for (std::int64_t i = 0; i < half; i += kLanes) {
    const std::int64_t n = min_of<std::int64_t>(kLanes, half - i);
    const auto get = [n](const float* p) { return n == kLanes ? load(p) : load_partial(p, n); };
    const auto put = [n](float* p, F v) { n == kLanes ? store(p, v) : store_partial(p, v, n); };
    const F a = get(x + i), b = get(x + half + i), c = get(cos + i), s = get(sin + i);
    put(out + i, a * c - b * s);
    put(out + half + i, b * c + a * s);
  }
}

void to_f32(float* out, const void* in, DType dtype, std::int64_t n) {
  const auto* bytes_in = static_cast<const std::byte*>(in);
  if (dtype == DType::f32 && n > 0) __builtin_memcpy(out, in, static_cast<std::size_t>(n) * 4);
  if (dtype == DType::f16) widen_all<DType::f16>(out, bytes_in, n);
  if (dtype == DType::bf16) widen_all<DType::bf16>(out, bytes_in, n);
}

void from_f32(void* out, DType dtype, const float* in, std::int64_t n) {
  auto* bytes_out = static_cast<std::byte*>(out);
  if (dtype == DType::f32 && n > 0) __builtin_memcpy(out, in, static_cast<std::size_t>(n) * 4);
  if (dtype == DType::f16) narrow_all(bytes_out, in, n, [](F v) { return float_to_half(v); });
  if (dtype == DType::bf16) narrow_all(bytes_out, in, n, [](F v) { return bf16_bits(v); });
}

}  // namespace mplus::kernels::MPLUS_ISA
