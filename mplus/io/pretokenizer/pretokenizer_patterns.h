// The patterns of GPT-2 and of Llama 3 (and Qwen2) as functions: where the match that starts at text[at]
// ends. Both match at every position of every text, so that repeating them cuts it up completely.
#pragma once

#include <cstddef>
#include <string_view>

namespace mplus::io {

// text is valid UTF-8, at < text.size() the start of a character.
std::size_t gpt2_match_end(std::string_view text, std::size_t at);
std::size_t llama3_match_end(std::string_view text, std::size_t at, int longest_number);

}  // namespace mplus::io
