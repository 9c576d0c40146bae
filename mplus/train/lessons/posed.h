// The form in which lessons ask, and in which a model makes up questions on a passage with their answers, one
// after another: the same, so whoever has learned to answer can nearly do it. No torch in here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mplus::train {

struct PosedQuestion {
  std::string question, answer;
};

std::string asked_form(
    std::string_view question);  // "Question: question\nAnswer:", with the answer to follow
constexpr std::string_view kPoseAfterPassage = "Question:";  // what comes next is made up
std::string posed_form(const PosedQuestion& posed);          // " question\nAnswer: answer\n\nQuestion:"

// What a model made up behind kPoseAfterPassage. Only what can be used: a whole question, whose short answer
// stands in the passage, is not said in the question, and was not asked for before.
std::vector<PosedQuestion> read_posed(std::string_view made, std::string_view passage);

}  // namespace mplus::train
