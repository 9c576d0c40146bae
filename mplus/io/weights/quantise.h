// Rows as 8-bit integers with one scale each: the small form of an M+ delta (`<name>` I8 [rows, cols] beside
// `<name>_scale` F32 [rows, 1]). Read back by dequantise_row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace mplus::io {

struct Int8Rows {
  std::vector<std::int8_t> values;  // [rows, cols]
  std::vector<float> scales;        // [rows]
};

// scale = max |x| / 127, value = x / scale rounded to nearest, ties to even; a row of zeros has scale 0. The
// elements must be finite.
Int8Rows quantise_rows(std::span<const float> x, std::int64_t rows, std::int64_t cols);

}  // namespace mplus::io
