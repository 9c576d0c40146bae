// Text made ready for a full-text index, and questions for asking it. Scripts written without spaces between
// words (Chinese, Japanese, Thai, …) are indexed by single characters and pairs of neighbours. Any bytes are
// safe: what is not UTF-8 separates words.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mplus::store {

// Words separated by spaces, as SQLite's unicode61 tokenizer is to see them.
std::string indexed_form(std::string_view text);

// A question's distinct words, lower case, at most `most`.
std::vector<std::string> question_words(std::string_view text, std::size_t most);

// Words that stand beside each other in a question, likewise; none in an unspaced script.
std::vector<std::pair<std::string, std::string>> question_pairs(std::string_view text, std::size_t most);

}  // namespace mplus::store
