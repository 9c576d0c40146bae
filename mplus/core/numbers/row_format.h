// How rows of the long-term store are kept: plain, in the memory's element type, or small, in 8 or 4 bits. A
// small vector is made once, when its row is dropped. It follows from the vector's values alone and has the
// same bits on every machine, so replay and forgetting meet the same bytes. The trainer reaches it here as
// well. docs/store_format.md, "Small rows", says what the bytes mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mplus/core/numbers/dtype.h"

namespace mplus {

enum class RowFormat : std::uint8_t { plain, int8, int4 };

// Part of the numerics id: another quantiser gets another number.
inline constexpr int kSmallRowVersion = 1;

std::string_view row_format_name(RowFormat format);  // "plain", "int8", "int4"
std::optional<RowFormat> row_format_from_name(std::string_view name);

// A memory's type as files and the database spell it: "BF16", or "BF16/int8" where dropped rows are small.
struct MemoryType {
  DType dtype = DType::bf16;
  RowFormat long_term = RowFormat::plain;
  friend bool operator==(const MemoryType&, const MemoryType&) = default;
};
std::string memory_type_name(const MemoryType& type);
std::optional<MemoryType> memory_type_from_name(std::string_view name);

// A key or value of n elements: codes, then a bf16 scale for each group of 64 (the last one may be shorter).
inline constexpr std::int64_t kSmallGroup = 64;
std::size_t small_vector_bytes(RowFormat format, std::int64_t n);
void make_small_vector(std::byte* out, RowFormat format, const float* values, std::int64_t n);
void expand_small_vector(float* out, RowFormat format, const std::byte* vector, std::int64_t n);

// A retriever key in either small format: n int8 codes, then one bf16 scale. Codes are within ±127.
std::size_t small_key_bytes(std::int64_t n);
void make_small_key(std::byte* out, const float* values, std::int64_t n);
void expand_small_key(float* out, const std::byte* key, std::int64_t n);

}  // namespace mplus
