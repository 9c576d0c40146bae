// Text made comparable, as SQuAD's scorer does it: lower case, ASCII punctuation gone, articles gone, white
// space as single spaces.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mplus::eval {

std::string normalised(std::string_view text);
std::string lower_case(std::string_view text);
std::vector<std::string> split_words(std::string_view text);  // at white space

// The steps by themselves, for scorers that combine them otherwise.
std::string without_punctuation(std::string_view text);
std::string without_words(std::string_view text, const std::vector<std::string>& words);  // whole words only

std::string first_line(std::string_view text);  // the first that is not blank, trimmed

// Letters and digits alone, lower-cased, one space between words: for finding a text inside another.
std::string plain_words(std::string_view text);

// Whether `words` stand in `text` in a row, both single-spaced; nothing stands nowhere.
bool has_words(std::string_view text, std::string_view words);

}  // namespace mplus::eval
