#include "mplus/io/weights/dequantise.h"

#include <cstring>

#include "mplus/core/error.h"

namespace mplus::io {
namespace {

// Within a head of e rows: file row 2i + half ↔ model row half·(e/2) + i.
template <class Copy>
void for_each_pair_row(std::int64_t rows, std::int64_t heads, Copy copy) {
  MPLUS_CHECK(heads > 0 && rows % (2 * heads) == 0, "{} rows in {} heads", rows, heads);
  const std::int64_t e = rows / heads;
  for (std::int64_t head = 0; head < heads; ++head)
    for (std::int64_t half = 0; half < 2; ++half)
      for (std::int64_t i = 0; i < e / 2; ++i) copy(head * e + half * (e / 2) + i, head * e + 2 * i + half);
}

}  // namespace

std::vector<float> dequantise(const Tensor& tensor) {
  const Matrix w = tensor.matrix();
  std::vector<float> out(static_cast<std::size_t>(w.rows * w.cols));
  for (std::int64_t r = 0; r < w.rows; ++r) dequantise_row(out.data() + r * w.cols, w, r);
  return out;
}

void unpermute_rows(std::byte* out, const std::byte* in, std::int64_t rows, std::size_t row_size_bytes,
                    std::int64_t heads) {
  for_each_pair_row(rows, heads, [&](std::int64_t model_row, std::int64_t file_row) {
    std::memcpy(out + static_cast<std::size_t>(model_row) * row_size_bytes,
                in + static_cast<std::size_t>(file_row) * row_size_bytes, row_size_bytes);
  });
}

void permute_rows(std::byte* out, const std::byte* in, std::int64_t rows, std::size_t row_size_bytes,
                  std::int64_t heads) {
  for_each_pair_row(rows, heads, [&](std::int64_t model_row, std::int64_t file_row) {
    std::memcpy(out + static_cast<std::size_t>(file_row) * row_size_bytes,
                in + static_cast<std::size_t>(model_row) * row_size_bytes, row_size_bytes);
  });
}

}  // namespace mplus::io
