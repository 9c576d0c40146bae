#include "mplus/io/text/question_prompt.h"

#include <gtest/gtest.h>

namespace mplus::io {
namespace {

TEST(QuestionPrompt, PutsTheQuestionInItsPlace) {
  EXPECT_EQ(question_prompt(kQuestionPrompt, "Who?"), "Question: Who?\nAnswer:");
  EXPECT_EQ(question_prompt("{q}{q}", "a"), "a{q}");  // the first place is the question's
  EXPECT_EQ(question_prompt("{q}", "what is {q}"), "what is {q}");
  EXPECT_EQ(question_prompt("no place", "Who?"), "no place");
}

}  // namespace
}  // namespace mplus::io
