// Philox4x32-10 (Salmon et al., 2011): a counter-based generator. The same key and counter give the same bits
// on every machine for ever, so whatever a session draws can be drawn again from its seed and position alone.
#pragma once

#include <array>
#include <cstdint>

namespace mplus {

using PhiloxBlock = std::array<std::uint32_t, 4>;

constexpr PhiloxBlock philox4x32(PhiloxBlock counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53u} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key = {key[0] + 0x9E3779B9u, key[1] + 0xBB67AE85u};
  }
  return counter;
}

// Streams keep unrelated uses of one seed apart.
enum class RandomStream : std::uint32_t { drop = 1, sample = 2, recall = 3, evaluation = 4 };

// 64 random bits for a place in a stream: step (update, token drawn, …), part (a layer) and item (a slot).
constexpr std::uint64_t random_bits(std::uint64_t seed, RandomStream stream, std::uint32_t step,
                                    std::uint32_t part, std::uint32_t item) {
  const PhiloxBlock out =
      philox4x32({item, part, step, static_cast<std::uint32_t>(stream)},
                 {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  return std::uint64_t{out[1]} << 32 | out[0];
}

}  // namespace mplus
