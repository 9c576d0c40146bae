// Element types of tensors in files and in memory, and the block layouts of GGUF's quantised types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace mplus {

enum class DType : std::uint8_t { f32, f16, bf16, i64, i32, i8, u8, boolean, q8_0, q4_0, q4_1 };

inline constexpr std::int64_t kQuantBlock = 32;  // elements of a quantised block

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
static_assert(sizeof(BlockQ8_0) == 34 && sizeof(BlockQ4_0) == 18 && sizeof(BlockQ4_1) == 20);

std::string_view dtype_name(DType dtype);                     // "F32", "Q4_1", … as files spell it
std::optional<DType> dtype_from_name(std::string_view name);  // the inverse
constexpr bool is_quantised(DType t) { return t >= DType::q8_0; }
constexpr bool is_float(DType t) { return t <= DType::bf16; }

constexpr std::int64_t block_elements(DType t) { return is_quantised(t) ? kQuantBlock : 1; }
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
  }
  return 0;
}
// Bytes of a row of n elements; n must be a multiple of block_elements(t).
constexpr std::size_t row_bytes(DType t, std::int64_t n) {
  return static_cast<std::size_t>(n / block_elements(t)) * block_bytes(t);
}

}  // namespace mplus
