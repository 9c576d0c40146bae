// Chance for made-up text: whole numbers from Philox, the same on every machine.
#pragma once

#include <cstdint>

#include "mplus/core/numbers/philox.h"

namespace mplus::train::made {

class Random {
 public:
  explicit Random(std::uint64_t seed)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)} {}

  // 0 … n − 1. The bias of n / 2³² does no harm here.
  std::uint32_t below(std::uint32_t n) {
    if (used_ == block_.size()) {
      block_ = philox4x32(
          {static_cast<std::uint32_t>(drawn_), static_cast<std::uint32_t>(drawn_ >> 32), 0, 0}, key_);
      ++drawn_;
      used_ = 0;
    }
    return static_cast<std::uint32_t>(std::uint64_t{block_[used_++]} * n >> 32);
  }
  bool one_in(std::uint32_t n) { return below(n) == 0; }

 private:
  std::array<std::uint32_t, 2> key_;
  std::uint64_t drawn_ = 0;
  PhiloxBlock block_{};
  std::size_t used_ = 4;
};

}  // namespace mplus::train::made
