#include "mplus/io/weights/quantise.h"

#include <algorithm>
#include <cmath>

#include "mplus/core/error.h"

namespace mplus::io {
namespace {

constexpr float kLargest = 127;  // −128 is never used: the range is symmetric

void quantise_row(std::int8_t* out, float& scale, std::span<const float> x) {
  float largest = 0;
  for (const float v : x) {
    if (!std::isfinite(v))
      fail(ErrorCode::invalid_argument, "int8 rows: expected finite elements, found {}", v);
    largest = std::max(largest, std::abs(v));
  }
  scale = largest / kLargest;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float q = scale > 0 ? std::nearbyint(x[i] / scale) : 0.0f;
    out[i] = static_cast<std::int8_t>(std::clamp(q, -kLargest, kLargest));
  }
}

}  // namespace

Int8Rows quantise_rows(std::span<const float> x, std::int64_t rows, std::int64_t cols) {
  MPLUS_CHECK(x.size() == static_cast<std::size_t>(rows * cols), "{} elements, [{}, {}]", x.size(), rows,
              cols);
  Int8Rows out{std::vector<std::int8_t>(x.size()), std::vector<float>(static_cast<std::size_t>(rows))};
  for (std::size_t r = 0; r < out.scales.size(); ++r) {
    const std::size_t start = r * static_cast<std::size_t>(cols);
    quantise_row(out.values.data() + start, out.scales[r], x.subspan(start, static_cast<std::size_t>(cols)));
  }
  return out;
}

}  // namespace mplus::io
