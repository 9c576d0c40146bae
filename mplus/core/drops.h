// Which short-term slots an update drops: of n slots the k with the smallest 64-bit Philox values (tie: the
// lower slot). Integers only, so the structure of a memory is the same on every machine for ever. It
// stands here because the engine's memory and the trainer's must drop the same.
#pragma once

#include <cstdint>
#include <vector>

namespace mplus {

// Slots in ascending order.
std::vector<std::int64_t> choose_drops(std::uint64_t seed, std::int64_t layer, std::int64_t update,
                                       std::int64_t n, std::int64_t k);

}  // namespace mplus
