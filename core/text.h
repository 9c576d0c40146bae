// Text as bytes.
#pragma once

#include <string_view>

namespace mplus {

// Without the white space around it (ASCII's).
constexpr std::string_view trim(std::string_view text) {
  constexpr std::string_view kWhiteSpace = " \t\n\v\f\r";
  const std::size_t begin = text.find_first_not_of(kWhiteSpace);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kWhiteSpace) - begin + 1);
}

}  // namespace mplus
