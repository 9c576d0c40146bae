// Births of a segment's rows as differences: neighbours in a segment were born close to each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace mplus::store {

// The difference d to the number before (the first one: to 0) as a variable number of bytes: 2 d, or -2 d - 1
// of a negative one, seven bits a byte, the lowest first; all but the last byte have their highest bit set.
std::vector<std::byte> birth_differences(std::span<const std::int64_t> births);
// None: the bytes are no such list.
std::optional<std::vector<std::int64_t>> births_of(std::span<const std::byte> bytes);

}  // namespace mplus::store
