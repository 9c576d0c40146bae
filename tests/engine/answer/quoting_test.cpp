#include "mplus/engine/answer/text/quoting.h"

#include <gtest/gtest.h>

#include "tests/io/tokenizer/tokenizer_fixtures.h"

namespace mplus::engine {
namespace {

// Tokens are single bytes; '|' ends an answer.
class QuotingTest : public ::testing::Test {
 protected:
  // What comes out where the model would say `wanted`, each byte `behind` nats before any other.
  std::string quoted(std::string_view text, std::string_view wanted, float behind, double most = 3) {
    Quoting quoting(tokenizer_, text, {'|'}, "No idea.", most);
    std::string said;
    for (const char c : wanted) {
      std::vector<float> logits(256, -1.0F);
      logits[static_cast<unsigned char>('L')] = -0.5F;  // of the others this one
      logits[static_cast<unsigned char>(c)] = -1.0F + behind;
      const auto id = quoting.next(logits);
      if (!id) return said + "<none>";
      if (*id == '|') return said;
      said += static_cast<char>(*id);
    }
    return said + "...";
  }

  const io::Tokenizer tokenizer_ = io::test::TinyTokenizer().load();
};

TEST_F(QuotingTest, SaysWhatStandsInTheText) {
  EXPECT_EQ(quoted("I live in Leeds now.", "leeds|", 9), "leeds") << "capitals or not";
  EXPECT_EQ(quoted("I live in Leeds now.", "in Leeds|", 9), "in Leeds");
  EXPECT_EQ(quoted("I live in Leeds now.", "LEEDS|", 9), "Leeds") << "but only where a word begins";
}

TEST_F(QuotingTest, TakesTheLikeliestThatStandsThere) {
  EXPECT_EQ(quoted("I live in Leeds now.", "B", 2), "L...") << "told Leeds, not Belgium";
  EXPECT_EQ(quoted("I live in Leeds now.", "B", 9), "<none>") << "far too likely";
  EXPECT_EQ(quoted("I live in Leeds now.", "B", 2, 1), "<none>");
}

TEST_F(QuotingTest, WhoDoesNotKnowIsNotOverruled) {
  EXPECT_EQ(quoted("I live in Leeds.", "N", 1), "<none>") << "Leeds was near";
  EXPECT_EQ(quoted("No ship lies in Leeds.", "No idea", 1), "No <none>");
  EXPECT_EQ(quoted("No ship lies in Leeds.", "No ship|", 1), "No ship");
}

TEST_F(QuotingTest, BeginsAndEndsWithAWord) {
  EXPECT_EQ(quoted("I love cheesecake.", "cheese|", 9), "cheesec...") << "half a word goes on";
  EXPECT_EQ(quoted("I love cheesecake.", "ake", 9), "<none>") << "the middle of a word";
  EXPECT_EQ(quoted("I love cheesecake.", "|", 9), "<none>") << "nothing is no quotation";
}

}  // namespace
}  // namespace mplus::engine
