// Everything an evaluation leaves to chance: a random order that follows from a seed, the same on every
// machine.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "mplus/core/numbers/philox.h"

namespace mplus::eval {

enum class Choice : std::uint32_t { question = 1, filler = 2, place = 3, needle = 4 };

inline std::uint64_t random_choice(std::uint64_t seed, Choice choice, std::uint32_t number,
                                   std::uint32_t part, std::uint32_t item) {
  return random_bits(seed ^ static_cast<std::uint64_t>(choice) << 56, RandomStream::evaluation, number, part,
                     item);
}

inline std::vector<std::size_t> random_order(std::size_t n, std::uint64_t seed, Choice choice,
                                             std::uint32_t number = 0, std::uint32_t part = 0) {
  std::vector<std::uint64_t> bits(n);
  for (std::size_t i = 0; i < n; ++i)
    bits[i] = random_choice(seed, choice, number, part, static_cast<std::uint32_t>(i));
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return bits[a] != bits[b] ? bits[a] < bits[b] : a < b; });
  return order;
}

}  // namespace mplus::eval
