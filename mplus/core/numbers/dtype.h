// Element types of tensors in files and in memory, and the block layouts of GGUF's quantised types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace mplus {

enum class DType : std::uint8_t {
  f32,
  f16,
  bf16,
  i64,
  i32,
  i8,
  u8,
  boolean,
  q8_0,  // from here on quantised, in blocks of kQuantBlock
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q4_k,  // from here on in blocks of kSuperBlock
  q5_k,
  q6_k
};

inline constexpr std::int64_t kQuantBlock = 32;  // elements of a quantised block
inline constexpr std::int64_t kSuperBlock =
    256;  // of a K-quant's: eight blocks of 32 with scales of their own

struct BlockQ8_0 {  // x = scale * q
  std::uint16_t scale;
  std::int8_t q[32];
};
struct BlockQ4_0 {  // x = scale * (q - 8); low nibbles are elements 0…15, high ones 16…31
  std::uint16_t scale;
  std::uint8_t q[16];
};
struct BlockQ4_1 {  // x = scale * q + minimum
  std::uint16_t scale;
  std::uint16_t minimum;
  std::uint8_t q[16];
};
struct BlockQ5_0 {  // x = scale * (q - 16); bit i of high is the fifth bit of element i
  std::uint16_t scale;
  std::uint8_t high[4];
  std::uint8_t q[16];
};
struct BlockQ5_1 {  // x = scale * q + minimum
  std::uint16_t scale;
  std::uint16_t minimum;
  std::uint8_t high[4];
  std::uint8_t q[16];
};
// x = scale * s[b] * q - minimum * m[b] in block b of 32. s and m have six bits: byte b of scales has s[b]
// and byte 4 + b has m[b] for b < 4; of the others byte 4 + b has the low four bits (s low, m high), and the
// upper two bits of bytes b - 4 and b are the rest. Blocks 2c and 2c + 1 are the low and high nibbles of the
// 32 bytes from q[32 c] on.
struct BlockQ4_K {
  std::uint16_t scale;
  std::uint16_t minimum;
  std::uint8_t scales[12];
  std::uint8_t q[128];
};
struct BlockQ5_K {  // the same; bit b of high[i] is the fifth bit of element i of block b
  std::uint16_t scale;
  std::uint16_t minimum;
  std::uint8_t scales[12];
  std::uint8_t high[32];
  std::uint8_t q[128];
};
// x = scale * scales[e / 16] * (q - 32). Elements 128 h + 32 p + i, i < 32: the four low bits are a nibble of
// low[64 h + 32 (p % 2) + i], the lower one for p < 2, and bits 2p, 2p + 1 of high[32 h + i] are the others.
struct BlockQ6_K {
  std::uint8_t low[128];
  std::uint8_t high[64];
  std::int8_t scales[16];
  std::uint16_t scale;
};
static_assert(sizeof(BlockQ8_0) == 34 && sizeof(BlockQ4_0) == 18 && sizeof(BlockQ4_1) == 20);
static_assert(sizeof(BlockQ5_0) == 22 && sizeof(BlockQ5_1) == 24);
static_assert(sizeof(BlockQ4_K) == 144 && sizeof(BlockQ5_K) == 176 && sizeof(BlockQ6_K) == 210);

std::string_view dtype_name(DType dtype);                     // "F32", "Q4_1", … as files spell it
std::optional<DType> dtype_from_name(std::string_view name);  // the inverse
constexpr bool is_quantised(DType t) { return t >= DType::q8_0; }
constexpr bool is_float(DType t) { return t <= DType::bf16; }

constexpr std::int64_t block_elements(DType t) {
  return t >= DType::q4_k ? kSuperBlock : is_quantised(t) ? kQuantBlock : 1;
}
constexpr std::size_t block_bytes(DType t) {
  switch (t) {
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::f16:
    case DType::bf16:
      return 2;
    case DType::i64:
      return 8;
    case DType::i8:
    case DType::u8:
    case DType::boolean:
      return 1;
    case DType::q8_0:
      return sizeof(BlockQ8_0);
    case DType::q4_0:
      return sizeof(BlockQ4_0);
    case DType::q4_1:
      return sizeof(BlockQ4_1);
    case DType::q5_0:
      return sizeof(BlockQ5_0);
    case DType::q5_1:
      return sizeof(BlockQ5_1);
    case DType::q4_k:
      return sizeof(BlockQ4_K);
    case DType::q5_k:
      return sizeof(BlockQ5_K);
    case DType::q6_k:
      return sizeof(BlockQ6_K);
  }
  return 0;
}
// Bytes of a row of n elements; n must be a multiple of block_elements(t).
constexpr std::size_t row_bytes(DType t, std::int64_t n) {
  return static_cast<std::size_t>(n / block_elements(t)) * block_bytes(t);
}

}  // namespace mplus
