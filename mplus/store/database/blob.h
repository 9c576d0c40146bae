// Texts and lists of numbers as they stand in the database: compressed with zstd.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mplus/io/tokenizer/tokenizer.h"

namespace mplus::store {

std::vector<std::byte> pack(std::span<const std::byte> bytes);
// `most`: what the unpacked bytes may come to; more, or damage, throws corrupt naming `what`.
std::vector<std::byte> unpack(std::span<const std::byte> packed, std::size_t most, std::string_view what);

std::vector<std::byte> pack_text(std::string_view text);
std::string unpack_text(std::span<const std::byte> packed, std::string_view what);

std::vector<std::byte> pack_ids(std::span<const io::TokenId> ids);  // 32-bit little-endian
std::vector<io::TokenId> unpack_ids(std::span<const std::byte> packed, std::string_view what);

// Births by layer: 64-bit counts and differences, which neighbouring births make small.
std::vector<std::byte> pack_births(std::span<const std::vector<std::int64_t>> births);
std::vector<std::vector<std::int64_t>> unpack_births(std::span<const std::byte> packed,
                                                     std::string_view what);

std::string sha256_of(std::string_view text);
std::string sha256_of(std::span<const io::TokenId> ids);

}  // namespace mplus::store
