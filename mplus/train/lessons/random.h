// Draws that are a function of their place in a run: the same seed and place give the same numbers on every
// machine, so anything a lesson was made of can be made again, by any thread, at any time.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "mplus/core/numbers/philox.h"

namespace mplus::train {

// Place of a sequence of draws; `purpose` keeps sequences at one place apart.
struct Place {
  std::uint32_t purpose = 0, life = 0, update = 0, stream = 0;
};

class Random {
 public:
  Random(std::uint64_t seed, const Place& place)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}, place_(place) {}

  std::uint64_t bits() {
    // Number of the draw and place fill the counter: purposes below 2⁸, streams below 2²⁴.
    const PhiloxBlock out =
        philox4x32({draws_++, place_.update, place_.life, place_.stream << 8 | place_.purpose}, key_);
    return std::uint64_t{out[1]} << 32 | out[0];
  }
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }  // [0, 1)
  bool chance(double p) { return uniform() < p; }
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(uniform() * static_cast<double>(n)); }
  std::int64_t between(std::int64_t least, std::int64_t most) { return least + below(most - least + 1); }
  // An index, as often as its weight says. The weights need not sum to 1.
  std::size_t pick(std::span<const double> weights) {
    double sum = 0;
    for (const double w : weights) sum += w;
    double at = uniform() * sum;
    std::size_t last = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (weights[i] <= 0) continue;
      last = i;
      if ((at -= weights[i]) < 0) return i;
    }
    return last;
  }

 private:
  std::array<std::uint32_t, 2> key_;
  Place place_;
  std::uint32_t draws_ = 0;
};

}  // namespace mplus::train
