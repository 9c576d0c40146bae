// Remembered text, to be read again in front of a question: found by the memory, quoted from the source.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mplus/engine/engine.h"
#include "mplus/engine/record.h"

namespace mplus::engine {

// Around a chunk's text in front of a question; models are trained on this form.
inline constexpr std::string_view kRereadMark = "Remembered text:\n";
inline constexpr std::string_view kRereadEnd = "\n\n";

struct Reread {
  std::vector<std::int64_t> chunks;  // oldest first
  std::vector<io::TokenId> ids;      // their text, marked as remembered
};

std::string chunk_text(const Record& record, std::int64_t chunk);  // "" where none is known

// The first n of these chunks whose text is known and fits into `budget` tokens together, oldest first.
Reread reread_chunks(const Engine& engine, const Record& record, std::span<const std::int64_t> best_first,
                     std::int64_t n, std::int64_t budget);

}  // namespace mplus::engine
