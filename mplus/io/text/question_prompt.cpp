#include "mplus/io/text/question_prompt.h"

namespace mplus::io {

std::string question_prompt(std::string_view form, std::string_view question) {
  constexpr std::string_view kPlace = "{q}";
  std::string prompt(form);
  if (const std::size_t at = prompt.find(kPlace); at != std::string::npos)
    prompt.replace(at, kPlace.size(), question);
  return prompt;
}

}  // namespace mplus::io
