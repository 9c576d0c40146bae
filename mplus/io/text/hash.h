// Checksums: SHA-256 where a file's identity matters, XXH3 where only damage must be noticed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace mplus::io {

std::string sha256_hex(std::span<const std::byte> bytes);
std::string sha256_hex(const std::filesystem::path& file);
std::uint64_t xxh3(std::span<const std::byte> bytes);

}  // namespace mplus::io
