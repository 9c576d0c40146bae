#include "mplus/core/numbers/dequantise.h"

#include "mplus/core/error.h"
#include "mplus/core/numbers/float16.h"

namespace mplus {
namespace {

template <class T, class Convert>
void convert_row(float* out, const void* row, std::int64_t n, Convert convert) {
  const T* in = static_cast<const T*>(row);
  for (std::int64_t i = 0; i < n; ++i) out[i] = convert(in[i]);
}

void q8_0_row(float* out, const void* row, std::int64_t n) {
  const auto* block = static_cast<const BlockQ8_0*>(row);
  for (std::int64_t i = 0; i < n; i += kQuantBlock, ++block) {
    const float scale = f16_to_f32(block->scale);
    for (std::int64_t j = 0; j < kQuantBlock; ++j) out[i + j] = scale * static_cast<float>(block->q[j]);
  }
}

void q4_0_row(float* out, const void* row, std::int64_t n) {
  const auto* block = static_cast<const BlockQ4_0*>(row);
  for (std::int64_t i = 0; i < n; i += kQuantBlock, ++block) {
    const float scale = f16_to_f32(block->scale);
    for (std::int64_t j = 0; j < kQuantBlock / 2; ++j) {
      out[i + j] = scale * static_cast<float>((block->q[j] & 15) - 8);
      out[i + j + kQuantBlock / 2] = scale * static_cast<float>((block->q[j] >> 4) - 8);
    }
  }
}

void q4_1_row(float* out, const void* row, std::int64_t n) {
  const auto* block = static_cast<const BlockQ4_1*>(row);
  for (std::int64_t i = 0; i < n; i += kQuantBlock, ++block) {
    const float scale = f16_to_f32(block->scale);
    const float minimum = f16_to_f32(block->minimum);
    for (std::int64_t j = 0; j < kQuantBlock / 2; ++j) {
      out[i + j] = scale * static_cast<float>(block->q[j] & 15) + minimum;
      out[i + j + kQuantBlock / 2] = scale * static_cast<float>(block->q[j] >> 4) + minimum;
    }
  }
}

// Bit i of a little-endian word of 32.
int bit_at(const std::uint8_t* bytes, std::int64_t i) { return (bytes[i / 8] >> (i % 8)) & 1; }

void q5_0_row(float* out, const void* row, std::int64_t n) {
  const auto* block = static_cast<const BlockQ5_0*>(row);
  constexpr std::int64_t kHalf = kQuantBlock / 2;
  for (std::int64_t i = 0; i < n; i += kQuantBlock, ++block) {
    const float scale = f16_to_f32(block->scale);
    for (std::int64_t j = 0; j < kHalf; ++j) {
      const int low = (block->q[j] & 15) | bit_at(block->high, j) << 4;
      const int high = (block->q[j] >> 4) | bit_at(block->high, j + kHalf) << 4;
      out[i + j] = scale * static_cast<float>(low - 16);
      out[i + j + kHalf] = scale * static_cast<float>(high - 16);
    }
  }
}

void q5_1_row(float* out, const void* row, std::int64_t n) {
  const auto* block = static_cast<const BlockQ5_1*>(row);
  constexpr std::int64_t kHalf = kQuantBlock / 2;
  for (std::int64_t i = 0; i < n; i += kQuantBlock, ++block) {
    const float scale = f16_to_f32(block->scale);
    const float minimum = f16_to_f32(block->minimum);
    for (std::int64_t j = 0; j < kHalf; ++j) {
      const int low = (block->q[j] & 15) | bit_at(block->high, j) << 4;
      const int high = (block->q[j] >> 4) | bit_at(block->high, j + kHalf) << 4;
      out[i + j] = scale * static_cast<float>(low) + minimum;
      out[i + j + kHalf] = scale * static_cast<float>(high) + minimum;
    }
  }
}

struct SixBitScales {
  int scale, minimum;
};
SixBitScales six_bit_scales(const std::uint8_t* packed, std::int64_t b) {
  if (b < 4) return {packed[b] & 63, packed[b + 4] & 63};
  return {(packed[b + 4] & 15) | packed[b - 4] >> 6 << 4, packed[b + 4] >> 4 | packed[b] >> 6 << 4};
}

// Q4_K and Q5_K.
template <class Block>
void minimum_k_row(float* out, const void* row, std::int64_t n) {
  const auto* block = static_cast<const Block*>(row);
  for (std::int64_t i = 0; i < n; i += kSuperBlock, ++block) {
    for (std::int64_t b = 0; b < kSuperBlock / kQuantBlock; ++b, out += kQuantBlock) {
      const SixBitScales packed = six_bit_scales(block->scales, b);
      const float scale = f16_to_f32(block->scale) * static_cast<float>(packed.scale);
      const float minimum = f16_to_f32(block->minimum) * static_cast<float>(packed.minimum);
      for (std::int64_t j = 0; j < kQuantBlock; ++j) {
        int q = block->q[b / 2 * kQuantBlock + j] >> (b % 2 * 4) & 15;
        if constexpr (requires { block->high; }) q |= (block->high[j] >> b & 1) << 4;
        out[j] = scale * static_cast<float>(q) - minimum;
      }
    }
  }
}

void q6_k_row(float* out, const void* row, std::int64_t n) {
  const auto* block = static_cast<const BlockQ6_K*>(row);
  for (std::int64_t i = 0; i < n; i += kSuperBlock, ++block) {
    for (std::int64_t e = 0; e < kSuperBlock; ++e) {
      const std::int64_t half = e / 128, part = e % 128 / 32, at = e % 32, sixteenth = e / 16;
      const int low = block->low[64 * half + 32 * (part % 2) + at] >> (part / 2 * 4) & 15;
      const int high = block->high[32 * half + at] >> (2 * part) & 3;
      const float scale = f16_to_f32(block->scale) * static_cast<float>(block->scales[sixteenth]);
      out[i + e] = scale * static_cast<float>((low | high << 4) - 32);
    }
  }
}

}  // namespace

void dequantise_row(float* out, const Matrix& w, std::int64_t row) {
  MPLUS_CHECK(row >= 0 && row < w.rows, "row {} of {}", row, w.rows);
  const void* in = w.row(row);
  const auto plain = [](auto x) { return static_cast<float>(x); };
  switch (w.dtype) {
    case DType::f32:
      return convert_row<float>(out, in, w.cols, plain);
    case DType::f16:
      return convert_row<std::uint16_t>(out, in, w.cols, f16_to_f32);
    case DType::bf16:
      return convert_row<std::uint16_t>(out, in, w.cols, bf16_to_f32);
    case DType::i64:
      return convert_row<std::int64_t>(out, in, w.cols, plain);
    case DType::i32:
      return convert_row<std::int32_t>(out, in, w.cols, plain);
    case DType::i8: {
      const float scale = w.row_scales == nullptr ? 1.0f : w.row_scales[row];
      return convert_row<std::int8_t>(out, in, w.cols,
                                      [scale](std::int8_t x) { return scale * static_cast<float>(x); });
    }
    case DType::u8:
    case DType::boolean:
      return convert_row<std::uint8_t>(out, in, w.cols, plain);
    case DType::q8_0:
      return q8_0_row(out, in, w.cols);
    case DType::q4_0:
      return q4_0_row(out, in, w.cols);
    case DType::q4_1:
      return q4_1_row(out, in, w.cols);
    case DType::q5_0:
      return q5_0_row(out, in, w.cols);
    case DType::q5_1:
      return q5_1_row(out, in, w.cols);
    case DType::q4_k:
      return minimum_k_row<BlockQ4_K>(out, in, w.cols);
    case DType::q5_k:
      return minimum_k_row<BlockQ5_K>(out, in, w.cols);
    case DType::q6_k:
      return q6_k_row(out, in, w.cols);
  }
}

}  // namespace mplus
