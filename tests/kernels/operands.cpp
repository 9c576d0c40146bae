#include "tests/kernels/operands.h"

#include "mplus/io/weights/dequantise.h"

namespace mplus::kernels {
namespace {

void put16(std::byte* at, std::uint16_t h) { std::memcpy(at, &h, 2); }

// One block of a quantised type: random scale, minimum and integers; the values as the format defines them.
void random_block(Random& random, DType dtype, std::byte* at, float* values) {
  const std::uint16_t scale_bits = f32_to_f16(random.value(0.1f));
  const float scale = f16_to_f32(scale_bits);
  put16(at, scale_bits);
  if (dtype == DType::q8_0) {
    for (int i = 0; i < 32; ++i) {
      const auto q = static_cast<std::int8_t>(random.bits() & 0xff);
      at[2 + i] = static_cast<std::byte>(q);
      values[i] = scale * static_cast<float>(q);
    }
    return;
  }
  const std::uint16_t minimum_bits = f32_to_f16(random.value(0.5f));
  if (dtype == DType::q4_1) put16(at + 2, minimum_bits);
  std::byte* nibbles = at + (dtype == DType::q4_1 ? 4 : 2);
  for (int i = 0; i < 16; ++i) {
    const std::uint32_t both = random.bits() & 0xff;
    nibbles[i] = static_cast<std::byte>(both);
    for (int high = 0; high < 2; ++high) {
      const auto q = static_cast<int>(high != 0 ? both >> 4 : both & 15);
      const float product = scale * static_cast<float>(dtype == DType::q4_0 ? q - 8 : q);
      values[i + 16 * high] = dtype == DType::q4_1 ? product + f16_to_f32(minimum_bits) : product;
    }
  }
}

// Blocks of random bytes with scales of a size; what they stand for says io, which is held to PyPI's gguf.
void random_codes(Random& random, Weights& w) {
  const std::size_t size = block_bytes(w.dtype);
  for (std::byte& byte : w.bytes) byte = static_cast<std::byte>(random.bits() & 0xff);
  for (std::size_t at = 0; at < w.bytes.size(); at += size) {
    const bool super = block_elements(w.dtype) == kSuperBlock;
    const std::size_t scale = w.dtype == DType::q6_k ? size - 2 : 0;
    put16(&w.bytes[at + scale], f32_to_f16(random.value(super ? 0.002f : 0.1f)));
    if (w.dtype != DType::q5_0 && w.dtype != DType::q6_k)
      put16(&w.bytes[at + 2], f32_to_f16(random.value(super ? 0.02f : 0.5f)));
  }
  for (std::int64_t r = 0; r < w.rows; ++r) io::dequantise_row(w.values.data() + r * w.cols, w.matrix(), r);
}

void random_element(Random& random, Weights& w, std::int64_t row, std::int64_t at) {
  const float x = random.value();
  std::byte* to = w.bytes.data() + at * static_cast<std::int64_t>(block_bytes(w.dtype));
  float& value = w.values[static_cast<std::size_t>(at)];
  if (w.dtype == DType::f32) {
    std::memcpy(to, &x, 4);
    value = x;
  } else if (w.dtype == DType::f16) {
    put16(to, f32_to_f16(x));
    value = f16_to_f32(f32_to_f16(x));
  } else if (w.dtype == DType::bf16) {
    put16(to, f32_to_bf16(x));
    value = bf16_to_f32(f32_to_bf16(x));
  } else {
    const auto q = static_cast<std::int8_t>(random.bits() & 0xff);
    *to = static_cast<std::byte>(q);
    value = w.row_scales[static_cast<std::size_t>(row)] * static_cast<float>(q);
  }
}

}  // namespace

Weights random_weights(Random& random, DType dtype, std::int64_t rows, std::int64_t cols) {
  Weights w;
  w.dtype = dtype;
  w.rows = rows;
  w.cols = cols;
  w.bytes.resize(static_cast<std::size_t>(rows) * row_bytes(dtype, cols));
  w.values.resize(static_cast<std::size_t>(rows * cols));
  if (dtype == DType::i8) w.row_scales = random.values(rows, 0.02f);
  if (dtype >= DType::q5_0) {
    random_codes(random, w);
  } else if (is_quantised(dtype)) {
    for (std::int64_t b = 0; b < rows * cols / 32; ++b)
      random_block(random, dtype, w.bytes.data() + b * static_cast<std::int64_t>(block_bytes(dtype)),
                   w.values.data() + b * 32);
  } else {
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < cols; ++c) random_element(random, w, r, r * cols + c);
  }
  return w;
}

}  // namespace mplus::kernels
