#include "mplus/eval/run/context_reader.h"

#include <gtest/gtest.h>

#include "mplus/engine/session.h"
#include "tests/eval/expect_error.h"

namespace mplus::eval {
namespace {

// The smallest real model: greedy decoding has one clear outcome.
engine::EngineOptions story_options() {
  engine::EngineOptions options;
  options.files.model = MPLUS_TEST_DATA "/stories260k/stories260K.bin";
  options.threads = 1;
  options.numerics = kernels::Numerics::exact;
  options.memory.dtype = DType::f32;
  return options;
}

std::vector<io::TokenId> story(engine::Engine& engine, std::int64_t n) {
  engine::Session session(engine);
  engine::GenerateOptions options;
  options.max_tokens = n;
  std::vector<io::TokenId> ids{1};
  const auto more = session.generate_ids(ids, options).tokens;
  ids.insert(ids.end(), more.begin(), more.end());
  return ids;
}

class Reader : public ::testing::Test {
 protected:
  Reader()
      : engine(story_options()),
        ids(story(engine, 100)),
        text(ids.begin(), ids.begin() + 60),
        prompt(ids.begin() + 60, ids.begin() + 70) {}
  engine::Engine engine;
  std::vector<io::TokenId> ids, text, prompt;
  const std::vector<io::TokenId> expected{ids.begin() + 70, ids.begin() + 90};
};

TEST_F(Reader, AnswersAsASessionDoes) {
  ContextReader reader(engine);
  reader.read(text);
  EXPECT_EQ(reader.size(), 60);
  EXPECT_EQ(reader.answer(prompt, 20, "").tokens, expected);
  EXPECT_EQ(reader.answer(prompt, 20, "").tokens, expected);  // the reading is as it was
  reader.clear();
  EXPECT_EQ(reader.answer(std::vector<io::TokenId>(ids.begin(), ids.begin() + 70), 20, "").tokens, expected);
}

// Rows of a session that has no memory are kept as they were computed, whatever a memory would keep.
TEST_F(Reader, ReadsNothingRounded) {
  engine::EngineOptions options = story_options();
  options.memory.dtype = DType::bf16;
  engine::Engine rounding(options);
  ContextReader exact(engine), reader(rounding);
  EXPECT_EQ(reader.score(ids), exact.score(ids));
  exact.read(text);
  reader.read(text);
  EXPECT_EQ(reader.score(prompt), exact.score(prompt));
  EXPECT_NE(engine::Session(rounding).score(ids).nll, exact.score(ids));
}

// The text is read once; a question's tokens are read in one pass, and each token of the answer in one, save
// the last.
TEST_F(Reader, AnswersInStepsOfTheRunner) {
  ContextReader reader(engine);
  reader.read(text);
  for (int again = 0; again < 2; ++again) {
    const std::int64_t before = engine.runner().read_passes();
    EXPECT_EQ(reader.answer(prompt, 20, "").tokens.size(), 20u);
    EXPECT_EQ(engine.runner().read_passes() - before, 20);
  }
}

TEST_F(Reader, CompressedToEverythingIsTheSame) {
  ContextReader reader(engine);
  reader.read(text);
  EXPECT_EQ(reader.answer_compressed(prompt, 20, "", 60, 32).tokens, expected);
  const auto cut = reader.answer_compressed(prompt, 20, "", 4, 32).tokens;
  ASSERT_FALSE(cut.empty());
  EXPECT_EQ(cut.front(), expected.front());  // the first token comes from the whole text
  EXPECT_NE(cut, expected);
  EXPECT_EQ(reader.answer(prompt, 20, "").tokens, expected);
}

TEST_F(Reader, ScoresAsASessionDoes) {
  engine::Session session(engine);
  const auto whole = session.score(ids).nll;
  ContextReader reader(engine);
  reader.read(text);
  const std::vector<io::TokenId> rest(ids.begin() + 60, ids.end());
  const auto nll = reader.score(rest);
  ASSERT_EQ(nll.size(), rest.size() - 1);
  for (std::size_t i = 0; i < nll.size(); ++i) EXPECT_NEAR(nll[i], whole[60 + i], 1e-3) << i;
}

TEST_F(Reader, SaysWhatDoesNotFit) {
  ContextReader reader(engine);
  const std::vector<io::TokenId> longer(static_cast<std::size_t>(reader.capacity()) + 1, 5);
  expect_error(ErrorCode::out_of_capacity, {std::to_string(reader.capacity())}, [&] { reader.read(longer); });
  expect_error(ErrorCode::out_of_capacity, {}, [&] { reader.score(longer); });
}

}  // namespace
}  // namespace mplus::eval
