// How text is cut into the chunks that updates write. Pure functions of lengths, so that a journal replays to
// the same memory (docs/decisions.md, "Cutting text").
#pragma once

#include <cstdint>
#include <vector>

namespace mplus::engine {

// A rest shorter than this is never written alone: models are trained with chunks of at least 16 tokens.
inline constexpr std::int64_t kLeastChunk = 16;

// Lengths of the pieces n tokens are written in: C each; where the last would be shorter than K, the last two
// are evened out if that gives both at least K.
std::vector<std::int64_t> cut_text(std::int64_t n, std::int64_t C, std::int64_t K);

}  // namespace mplus::engine
