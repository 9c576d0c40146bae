// The form a question is put in: a text with {q} where the question goes.
#pragma once

#include <string>
#include <string_view>

namespace mplus::io {

inline constexpr std::string_view kQuestionPrompt = "Question: {q}\nAnswer:";  // where nothing names another

std::string question_prompt(std::string_view form, std::string_view question);

}  // namespace mplus::io
