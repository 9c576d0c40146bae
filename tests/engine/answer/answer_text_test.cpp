#include "mplus/engine/answer/text/answer_text.h"

#include <gtest/gtest.h>

#include "tests/io/tokenizer/tokenizer_fixtures.h"

namespace mplus::engine {
namespace {

class AnswerTextTest : public ::testing::Test {
 protected:
  AnswerTextTest() {
    options_.stop = {"\n"};
    options_.on_text = [this](std::string_view piece) {
      shown_ += piece;
      return shown_.size() < 20;
    };
  }

  // Says it byte by byte, as far as it is wanted.
  void say(AnswerText& text, std::string_view said) {
    for (const char c : said)
      if (!text.push(static_cast<unsigned char>(c))) return;
  }
  AnswerText begin(const std::string& no_answer) { return {&tokenizer_, options_, no_answer}; }

  const io::Tokenizer tokenizer_ = io::test::TinyTokenizer().load();
  std::string shown_;
  GenerateOptions options_;
};

TEST_F(AnswerTextTest, EveryPieceIsSeenAtOnce) {
  AnswerText text = begin("");
  say(text, " I do");
  EXPECT_EQ(shown_, " I do");
  say(text, " not know.\nmore");
  EXPECT_EQ(text.reason(), StopReason::stop_string);
  EXPECT_FALSE(text.is_none());
  EXPECT_EQ(text.finish(), " I do not know.");
  EXPECT_EQ(shown_, " I do not know.");
}

TEST_F(AnswerTextTest, NoAnswerIsNeverSeen) {
  AnswerText text = begin("I do not know.");
  say(text, " I do not know. But");
  EXPECT_TRUE(text.is_none());
  EXPECT_EQ(text.finish(), " I do not know.") << "it went on";
  EXPECT_EQ(shown_, "");
}

TEST_F(AnswerTextTest, WhatIsRefutedIsNeverSeen) {
  std::string asked;
  const auto refutes = [&](std::string_view said) {
    asked = said;
    return said == "64691 meters";
  };
  AnswerText text(&tokenizer_, options_, "", "", refutes);
  say(text, " 64691 meters\n");
  EXPECT_EQ(text.reason(), StopReason::stop_string);
  EXPECT_FALSE(text.is_none()) << "it is asked when the answer has ended";
  EXPECT_TRUE(text.is_refuted());
  EXPECT_EQ(asked, "64691 meters");
  EXPECT_TRUE(text.is_none());
  EXPECT_EQ(text.finish(), " 64691 meters");
  EXPECT_EQ(shown_, "");
  AnswerText other(&tokenizer_, options_, "", "", refutes);
  say(other, " 12\n");
  EXPECT_EQ(shown_, "");
  EXPECT_FALSE(other.is_refuted());
  other.stands();
  EXPECT_EQ(shown_, " 12");
}

TEST_F(AnswerTextTest, LongTextIsNotHeldBackToItsEnd) {
  options_.on_text = [this](std::string_view piece) {
    shown_ += piece;
    return true;
  };
  int times = 0;
  AnswerText text(&tokenizer_, options_, "", "", [&](std::string_view) { return ++times > 1; });
  const std::string story(300, 'x');
  say(text, story);
  EXPECT_EQ(shown_, story);
  EXPECT_FALSE(text.is_refuted());
  EXPECT_EQ(times, 1);
}

TEST_F(AnswerTextTest, WhatMustStandInATextIsSeenOnceItIsKnownTo) {
  AnswerText text(&tokenizer_, options_, "I do not know.", "The cat is called Biscuit now.");
  say(text, " biscuit");
  EXPECT_FALSE(text.is_none());
  EXPECT_EQ(shown_, "") << "it may go on with what does not stand there";
  say(text, ".");
  EXPECT_FALSE(text.is_none());
  text.stands();
  EXPECT_EQ(shown_, " biscuit.");
  AnswerText other(&tokenizer_, options_, "I do not know.", "The cat is called Biscuit now.");
  EXPECT_TRUE(other.is_empty());
  say(other, " Bisque");
  EXPECT_TRUE(other.is_none());
  EXPECT_EQ(other.finish(), " Bisq") << "it went on";
  EXPECT_EQ(shown_, " biscuit.");
}

TEST_F(AnswerTextTest, WhatOnlyBeginsLikeItIsSeenOnceThatIsKnown) {
  AnswerText text = begin("I do not know.");
  say(text, " I do not k");
  EXPECT_EQ(shown_, "");
  say(text, "eep");
  EXPECT_EQ(shown_, " I do not keep");
  EXPECT_FALSE(text.is_none());
  EXPECT_EQ(text.finish(), " I do not keep");
}

TEST_F(AnswerTextTest, WhatMustStandIsSeen) {
  AnswerText text = begin("I do not know.");
  say(text, " I do not");
  EXPECT_TRUE(text.stands());
  EXPECT_EQ(shown_, " I do not");
  say(text, " know.\n");
  EXPECT_FALSE(text.is_none());
  EXPECT_EQ(text.finish(), shown_);
}

TEST_F(AnswerTextTest, ACallerWhoHasSeenEnoughEndsIt) {
  AnswerText text = begin("I do not know.");
  say(text, "twenty letters and more");
  EXPECT_EQ(text.reason(), StopReason::cancelled);
  EXPECT_EQ(shown_.size(), 20u);
}

}  // namespace
}  // namespace mplus::engine
