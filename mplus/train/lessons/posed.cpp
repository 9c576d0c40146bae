#include "mplus/train/lessons/posed.h"

#include <fmt/core.h>

#include <algorithm>

#include "mplus/core/text.h"

namespace mplus::train {
namespace {

constexpr std::string_view kQuestion = "Question:", kAnswer = "Answer:";
constexpr std::size_t kLongestPosedAnswer = 80, kShortestQuestion = 12, kLongestQuestion = 240;  // bytes

// The rest of the line, if the line is whole.
bool take_line(std::string_view& text, std::string_view& line) {
  const std::size_t end = text.find('\n');
  if (end == text.npos) return false;
  line = trim(text.substr(0, end));
  text.remove_prefix(end + 1);
  return true;
}

bool usable(std::string_view question, std::string_view answer, std::string_view passage) {
  return !answer.empty() && answer.size() <= kLongestPosedAnswer && passage.find(answer) != passage.npos &&
         question.size() >= kShortestQuestion && question.size() <= kLongestQuestion &&
         question.back() == '?' && question.find(answer) == question.npos;
}

}  // namespace

std::string asked_form(std::string_view question) {
  return fmt::format("{} {}\n{}", kQuestion, question, kAnswer);
}

std::string posed_form(const PosedQuestion& posed) {
  return fmt::format(" {}\n{} {}\n\n{}", posed.question, kAnswer, posed.answer, kQuestion);
}

std::vector<PosedQuestion> read_posed(std::string_view made, std::string_view passage) {
  std::vector<PosedQuestion> all;
  std::string_view answer, question, blank;
  while (take_line(made, question)) {
    if (!made.starts_with(kAnswer)) break;
    made.remove_prefix(kAnswer.size());
    if (!take_line(made, answer)) break;
    const bool again = std::any_of(all.begin(), all.end(), [&](const PosedQuestion& before) {
      return before.answer == answer || before.question == question;
    });
    if (!again && usable(question, answer, passage))
      all.push_back({std::string(question), std::string(answer)});
    if (!take_line(made, blank) || !blank.empty() || !made.starts_with(kQuestion)) break;
    made.remove_prefix(kQuestion.size());
  }
  return all;
}

}  // namespace mplus::train
