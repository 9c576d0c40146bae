#include "mplus/engine/answer/attempt_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tests/io/tokenizer/tokenizer_fixtures.h"

namespace mplus::engine {
namespace {

constexpr std::size_t kVocab = 512;

// Bytes are tokens: an answer begins with 'A', "no answer" with 'N' or a space.
class AttemptChoiceTest : public ::testing::Test {
 protected:
  // Nats by which an answer is likelier to begin than "no answer".
  std::vector<float> logits(float odds) const {
    std::vector<float> all(kVocab, -20.0f);
    all['A'] = 3.0f + odds;
    all['N'] = 3.0f;
    all[' '] = 2.0f;
    return all;
  }
  std::size_t likeliest(const std::vector<float>& all) const {
    return static_cast<std::size_t>(std::max_element(all.begin(), all.end()) - all.begin());
  }
  // What it begins with and whether it counts: 'N' alone is left of a chunk that is passed over.
  std::pair<char, bool> settled(double lean, double lag, float odds, double behind) const {
    RecallPolicy policy;
    policy.no_answer = "None";
    policy.lean = lean;
    policy.lag = lag;
    std::vector<float> all = logits(odds);
    const bool counts = AttemptChoice(tokenizer_, policy).settle(all, behind);
    return {static_cast<char>(likeliest(all)), counts};
  }
  const io::Tokenizer tokenizer_ = io::test::TinyTokenizer().load();
};

using Settled = std::pair<char, bool>;

TEST_F(AttemptChoiceTest, LeansTowardsAnAnswer) {
  EXPECT_EQ(settled(1, 0, 0.5f, 0), Settled('A', true));
  EXPECT_EQ(settled(1, 0, -0.9f, 0), Settled('A', true));
  EXPECT_EQ(settled(1, 0, -1.1f, 0), Settled('N', true));  // what follows tells whether it is none
  EXPECT_EQ(settled(0, 0, -0.9f, 0), Settled('N', true));
}

TEST_F(AttemptChoiceTest, AChunkBehindTheBestMustBeSurer) {
  EXPECT_EQ(settled(1, 4, 0.9f, 0.5), Settled('N', false));
  EXPECT_EQ(settled(1, 4, 1.1f, 0.5), Settled('A', true));
  EXPECT_EQ(settled(1, 4, 7.1f, 2), Settled('A', true));
  EXPECT_EQ(settled(1, 4, 6.9f, 2), Settled('N', false));
  EXPECT_EQ(settled(1, 4, -0.5f, 0.5), Settled('N', true));
}

TEST_F(AttemptChoiceTest, OnlyWhatMustNotBeSaidIsBarred) {
  RecallPolicy policy;
  policy.no_answer = "None";
  policy.lean = 1;
  const AttemptChoice choice(tokenizer_, policy);
  std::vector<float> sure = logits(2), leaning = logits(-0.5f);
  EXPECT_TRUE(choice.settle(sure, 0));
  EXPECT_EQ(sure, logits(2));
  EXPECT_TRUE(choice.settle(leaning, 0));
  EXPECT_TRUE(std::isinf(leaning['N']) && std::isinf(leaning[' ']));
  EXPECT_EQ(leaning['A'], 2.5f);
  policy.lag = 9;
  std::vector<float> passed = logits(2);
  EXPECT_FALSE(AttemptChoice(tokenizer_, policy).settle(passed, 1));
  for (std::size_t id = 0; id < kVocab; ++id) EXPECT_EQ(std::isinf(passed[id]), id != 'N' && id != ' ') << id;
}

std::vector<std::int64_t> attempted(const SpeaksFor& speaks_for, double margin = 2) {
  memory::Votes votes;
  votes.chunks = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  votes.votes = {9, 1, 7, 0, 6, 0, 5, 0, 8, 0};
  votes.held.assign(10, true);
  RecallPolicy policy;
  policy.margin = margin;
  std::vector<std::int64_t> chunks;
  for (const auto& attempt : attempts_by_text(votes, policy, speaks_for)) chunks.push_back(attempt.chunk);
  return chunks;
}

TEST(AttemptsByText, ThoseThatAreSpokenForComeFirstTheNewestBeforeTheOlder) {
  using Chunks = std::vector<std::int64_t>;
  EXPECT_EQ(attempted([](std::int64_t) { return 0; }), Chunks());
  EXPECT_EQ(attempted([](std::int64_t c) { return c == 0 || c == 6 ? 2
                                                  : c == 8         ? 1
                                                                   : 0; }),
            (Chunks{6, 0, 8}));
  EXPECT_EQ(attempted([](std::int64_t c) { return c == 1 ? 3 : 0; }, 0), (Chunks{1, 0}))
      << "far behind, beside the best";
  EXPECT_EQ(attempted([](std::int64_t c) { return c == 9 ? 1 : 0; }), Chunks()) << "not among the best eight";
  EXPECT_EQ(attempted([](std::int64_t) { return 1; }), (Chunks{8, 6, 5})) << "no more than are attempted";
}

}  // namespace
}  // namespace mplus::engine
