// Letters (general category L) and numbers (N) of Unicode 16 as sorted ranges, both ends included.
#pragma once

#include <cstdint>
#include <span>

namespace mplus::io {

struct CodePointRange {
  std::uint32_t first;
  std::uint32_t last;
};

std::span<const CodePointRange> letter_ranges();
std::span<const CodePointRange> number_ranges();

}  // namespace mplus::io
