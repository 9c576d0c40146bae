#include "mplus/store/segments/births.h"

namespace mplus::store {

std::vector<std::byte> birth_differences(std::span<const std::int64_t> births) {
  std::vector<std::byte> bytes;
  std::uint64_t before = 0;
  for (const std::int64_t birth : births) {
    const auto difference = static_cast<std::int64_t>(static_cast<std::uint64_t>(birth) - before);
    auto code = static_cast<std::uint64_t>(difference) << 1 ^ static_cast<std::uint64_t>(difference >> 63);
    for (; code >= 0x80; code >>= 7) bytes.push_back(static_cast<std::byte>(code | 0x80));
    bytes.push_back(static_cast<std::byte>(code));
    before = static_cast<std::uint64_t>(birth);
  }
  return bytes;
}

std::optional<std::vector<std::int64_t>> births_of(std::span<const std::byte> bytes) {
  std::vector<std::int64_t> births;
  std::uint64_t before = 0, code = 0;
  unsigned shift = 0;
  for (const std::byte byte : bytes) {
    const auto bits = static_cast<std::uint64_t>(byte);
    if (shift > 63 || (shift == 63 && (bits & 0x7f) > 1)) return std::nullopt;
    code |= (bits & 0x7f) << shift;
    shift += 7;
    if (bits & 0x80) continue;
    before += (code >> 1) ^ (0 - (code & 1));
    births.push_back(static_cast<std::int64_t>(before));
    code = 0;
    shift = 0;
  }
  if (shift != 0) return std::nullopt;
  return births;
}

}  // namespace mplus::store
