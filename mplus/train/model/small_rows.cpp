#include "mplus/train/model/small_rows.h"

#include <algorithm>
#include <bit>

#include "mplus/core/error.h"

namespace mplus::train {
namespace {

constexpr double kSmallest = 0x1p-100, kShift = 0x1.8p23;

std::int64_t largest_power(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n)));
}

// A number as a tensor of the device. Torch multiplies by the inverse of a number from the host, and so
// rounds twice where a division rounds once.
Tensor divisor(double number, const Tensor& like) { return torch::full({}, number, like.options()); }

// Of the last dimension, a power of two: in the order of core's butterflies, hence with their bits.
Tensor butterflies(Tensor x) {
  const std::vector<std::int64_t> shape = x.sizes().vec();
  for (std::int64_t half = 1; half < shape.back(); half *= 2) {
    const Tensor pairs = x.reshape({-1, 2, half});
    const Tensor a = pairs.select(1, 0), b = pairs.select(1, 1);
    x = torch::stack({a + b, a - b}, 1);
  }
  return x.reshape(shape);
}

// Calls of(part) for every piece of the last dimension whose size is a power of two: the largest that fits,
// then of the rest in the same way.
template <class F>
Tensor by_powers(const Tensor& x, const F& of) {
  std::vector<Tensor> parts;
  const std::int64_t n = x.size(-1);
  for (std::int64_t at = 0, size = 0; at < n; at += size) {
    size = largest_power(n - at);
    parts.push_back(of(x.narrow(-1, at, size)));
  }
  return parts.size() == 1 ? parts.front() : torch::cat(parts, -1);
}

// Scales [..., 1] of the last dimension, rounded to bfloat16 away from zero. What is no number does not
// count.
Tensor scales_of(const Tensor& x, RowFormat format) {
  const Tensor numbers = x.masked_fill(x.isnan(), 0);
  const Tensor lowest = numbers.amin(-1, true).clamp_max(0), highest = numbers.amax(-1, true).clamp_min(0);
  const Tensor most = torch::maximum(-lowest, highest);
  const Tensor scale = format == RowFormat::int8
                           ? most / divisor(127, x)
                           : torch::where(-lowest >= highest, lowest, highest) / divisor(-8, x);
  const Tensor away = (scale.view(torch::kInt32) + 0xffff).bitwise_and(~0xffff).view(torch::kFloat32);
  return torch::where(most < kSmallest, torch::zeros_like(away), away);
}

// To the nearest, halves to even, within what the format has; what is no number gets the least code.
Tensor codes_of(const Tensor& x, const Tensor& inverse, RowFormat format) {
  const double least = format == RowFormat::int8 ? -127 : -8, most = format == RowFormat::int8 ? 127 : 7;
  const Tensor code = x * inverse;
  const Tensor limited = torch::where(code > least, code.clamp_max(most), torch::full_like(code, least));
  return (limited + kShift) - kShift;
}

Tensor inverse_of(const Tensor& scales, const Tensor& counts) {
  return torch::where(counts, torch::ones_like(scales) / scales, torch::zeros_like(scales));
}

Tensor as_kept(const Tensor& values) { return values.to(torch::kBFloat16).to(torch::kFloat32); }

// Groups side by side: [..., n].
Tensor through_groups(const Tensor& x, RowFormat format) {
  const Tensor sums = by_powers(x, butterflies);
  const Tensor scales = scales_of(sums, format);
  const Tensor codes = codes_of(sums, inverse_of(scales, scales != 0), format);
  return by_powers(codes, [&](const Tensor& part) {
    return butterflies(part) * (scales / static_cast<double>(part.size(-1)));  // a power of two: exact
  });
}

}  // namespace

Tensor through_small_vectors(const Tensor& values, RowFormat format) {
  MPLUS_CHECK(format != RowFormat::plain, "a plain vector is read as it is");
  const Tensor x = as_kept(values);
  const std::int64_t n = x.size(-1), whole = n / kSmallGroup * kSmallGroup;
  std::vector<Tensor> parts;
  if (whole > 0)
    parts.push_back(
        through_groups(x.narrow(-1, 0, whole).unflatten(-1, {-1, kSmallGroup}), format).flatten(-2));
  if (whole < n) parts.push_back(through_groups(x.narrow(-1, whole, n - whole), format));
  return parts.size() == 1 ? parts.front() : torch::cat(parts, -1);
}

SmallKeys small_keys(const Tensor& values) {
  const Tensor x = as_kept(values);
  const Tensor scales = scales_of(x, RowFormat::int8);
  const Tensor codes = codes_of(x, inverse_of(scales, scales != 0), RowFormat::int8);
  return {codes.to(torch::kInt8), scales.squeeze(-1)};
}

Tensor small_recall_scores(const Tensor& queries, const SmallKeys& keys, const Tensor& weights) {
  const Tensor q = queries.to(torch::kFloat32);
  const Tensor scales = q.abs().amax(-1, true) / divisor(127, q);  // [B, T, 1], not rounded
  const Tensor codes = codes_of(q, inverse_of(scales, scales >= kSmallest), RowFormat::int8);
  // Products of codes and their sums stay below 2^24: float32 has them exactly.
  MPLUS_CHECK(q.size(-1) <= (1 << 24) / (127 * 127), "queries of {} values", q.size(-1));
  const Tensor products = torch::bmm(codes, keys.codes.to(torch::kFloat32).transpose(1, 2));  // [B, T, n]
  const Tensor near = torch::sigmoid(products * (scales * keys.scales.unsqueeze(1)));
  return torch::bmm(weights.to(torch::kFloat32).unsqueeze(1), near).squeeze(1);
}

}  // namespace mplus::train
