#include <gtest/gtest.h>

#include "mplus/eval/data/fillers.h"
#include "mplus/eval/task/retention/retention_plan.h"
#include "tests/eval/expect_error.h"
#include "tests/eval/temporary_file.h"

namespace mplus::eval {
namespace {

constexpr std::int64_t C = 64;

const io::Tokenizer& tokenizer() {
  static const io::Tokenizer t = io::Tokenizer::from_file(MPLUS_TEST_DATA "/tokenizers/tokenizer.json");
  return t;
}

std::string words(int n, unsigned seed) {
  static const char* const kWords[] = {"lamp",   "harbour", "winter", "stone",
                                       "letter", "boat",    "night",  "größe"};
  std::string text;
  for (int i = 0; i < n; ++i) {
    seed = seed * 1664525u + 1013904223u;
    text += fmt::format("{}{}{}", i ? " " : "", kWords[seed >> 29], seed >> 16 & 1023);
  }
  return text + ".";
}

Question question(int n, const std::string& article = "") {
  Question q;
  q.id = fmt::format("q{}", n);
  q.article = article;
  q.passage = fmt::format("{} The code of door {} is {}. {}", words(3, 900u + static_cast<unsigned>(n)), n,
                          5000 + n, words(2, 700u + static_cast<unsigned>(n)));
  q.question = fmt::format("What opens door {}?", n);
  q.answers = {std::to_string(5000 + n)};
  q.line = n + 1;
  return q;
}

class Plan : public ::testing::Test {
 protected:
  Plan() : chunker(tokenizer(), C) {
    std::string books, passages;
    for (unsigned n = 0; n < 6; ++n) books += "{\"title\":\"b\",\"text\":\"" + words(900, n) + "\"}\n";
    for (unsigned n = 0; n < 120; ++n) passages += "{\"context\":\"" + words(30, 50 + n) + "\"}\n";
    files = {folder.write("books.jsonl", books), folder.write("passages.jsonl", passages)};
  }
  std::vector<Question> questions(int n) const {
    std::vector<Question> all;
    for (int i = 0; i < n; ++i) all.push_back(question(i));
    return all;
  }
  TemporaryFolder folder;
  Chunker chunker;
  std::vector<std::filesystem::path> files;
};

TEST_F(Plan, ChunksAreWhatTheTokenizerMakesOfThem) {
  const std::string text = words(400, 3);
  std::string_view rest = text;
  int whole = 0;
  while (!rest.empty()) {
    const auto piece = chunker.first(rest);
    ASSERT_GT(piece.bytes, 0u);
    EXPECT_LE(piece.tokens, C);
    EXPECT_EQ(chunker.count(rest.substr(0, piece.bytes)), piece.tokens);
    whole += piece.tokens == C;
    rest.remove_prefix(piece.bytes);
  }
  EXPECT_GT(whole, 10);
  EXPECT_LE(chunker.count(chunker.last(text, 20)), 20);
  EXPECT_TRUE(text.ends_with(chunker.last(text, 20)));
  EXPECT_EQ(chunker.last("two words", 20), "two words");
}

TEST_F(Plan, FilledChunksHoldThePassageWhole) {
  const std::string before = words(80, 1), after = words(80, 2);
  const Question q = question(1);
  const PassageChunk chunk = fill_chunk(chunker, before, q.passage, after, "5001");
  EXPECT_EQ(chunk.text.substr(chunk.begin, chunk.end - chunk.begin), q.passage);
  EXPECT_LE(chunker.count(chunk.text), C);
  EXPECT_GT(chunker.count(chunk.text), C - 4);
  EXPECT_GT(chunk.begin, 0u);
  EXPECT_LT(chunk.end, chunk.text.size());
  // One too long is cut around the answer.
  const std::string longer = words(200, 4) + " " + q.passage + " " + words(200, 5);
  const PassageChunk cut = fill_chunk(chunker, before, longer, after, "5001");
  EXPECT_NE(cut.text.find("5001"), std::string::npos);
  EXPECT_LE(chunker.count(cut.text), C);
  EXPECT_GT(chunker.count(cut.text), C - 8);
  const PassageChunk paper = paper_chunk(chunker, longer);
  EXPECT_TRUE(paper.text.starts_with("Context: "));
  EXPECT_LE(chunker.count(paper.text), C);
}

TEST_F(Plan, FillersAlternateBetweenFiles) {
  const Fillers fillers(files, chunker, 20, C / 2);
  const auto list = fillers.list(10, 1, 0);
  for (std::size_t i = 0; i < list.size(); ++i) {
    EXPECT_NE(list[i]->origin.find(i % 2 ? "passages.jsonl:" : "books.jsonl:"), std::string::npos);
    EXPECT_GE(chunker.count(list[i]->text), C / 2);
  }
  EXPECT_EQ(fillers.list(10, 1, 0), list);
  EXPECT_NE(fillers.list(10, 2, 0), list);
  EXPECT_NE(fillers.list(10, 1, 1), list);
  expect_error(ErrorCode::not_found, {"passages.jsonl", "5000"},
               [&] { Fillers({files[1]}, chunker, 5000, 1); });
  expect_error(ErrorCode::invalid_argument, {"--distractors"}, [&] { Fillers({}, chunker, 5, 1); });
}

TEST_F(Plan, SameSeedSameQuestions) {
  const Fillers fillers(files, chunker, 40, C / 2);
  const auto ids = [&](std::uint64_t seed, std::int64_t samples) {
    std::vector<std::string> result;
    for (const auto& memory : select_questions(questions(50), chunker, fillers.list(4, 0, 0),
                                               {.samples = samples, .seed = seed}, 100)
                                  .memories)
      for (const Asking& asking : memory) result.push_back(asking.question.id);
    return result;
  };
  EXPECT_EQ(ids(1, 20), ids(1, 20));
  EXPECT_NE(ids(1, 20), ids(2, 20));
  const auto more = ids(1, 30);  // a larger count keeps the smaller one's
  EXPECT_EQ(std::vector<std::string>(more.begin(), more.begin() + 20), ids(1, 20));
}

TEST_F(Plan, OneArticleGivesOnePassageToAMemory) {
  std::vector<Question> all;
  for (int n = 0; n < 12; ++n) all.push_back(question(n, n % 3 == 0 ? "A" : n % 3 == 1 ? "B" : "C"));
  const Groups groups = select_questions(all, chunker, {}, {.samples = 7}, 100);
  ASSERT_EQ(groups.memories.size(), 3u);
  for (const auto& memory : groups.memories) {
    std::set<std::string> articles;
    for (const Asking& asking : memory) EXPECT_TRUE(articles.insert(asking.question.article).second);
  }
  expect_error(ErrorCode::not_found, {"20 questions wanted", "12"},
               [&] { select_questions(all, chunker, {}, {.samples = 20}, 100); });
}

TEST_F(Plan, UnfitQuestionsAreCountedByReason) {
  std::vector<Question> all = questions(4);
  all[0].answers = {words(30, 1)};
  all[1].question = "Is it 5001?";
  all[2].answers = {"nowhere"};
  const Groups groups = select_questions(all, chunker, {}, {.samples = 1}, 100);
  EXPECT_EQ(groups.memories.at(0).at(0).question.id, "q3");
  expect_error(ErrorCode::not_found,
               {"1 left out: no short answer", "1 left out: the question holds an answer",
                "1 left out: no answer stands"},
               [&] { select_questions(all, chunker, {}, {.samples = 2}, 100); });
}

TEST_F(Plan, StreamSpreadsPassages) {
  const Fillers fillers(files, chunker, 60, C / 2);
  auto groups = select_questions(questions(20), chunker, fillers.list(4, 0, 0), {.samples = 10}, 100);
  const MemoryPlan plan = plan_stream(groups.memories.at(0), fillers.list(43, 1, 0), 3, 50, 1, 0);
  ASSERT_EQ(plan.chunks.size(), 53u);
  for (std::size_t a = 0; a < 10; ++a) {
    EXPECT_GE(plan.place[a], 3 + static_cast<std::int64_t>(a) * 5);
    EXPECT_LT(plan.place[a], 8 + static_cast<std::int64_t>(a) * 5);
    EXPECT_EQ(plan.chunks[static_cast<std::size_t>(plan.place[a])].asking, static_cast<std::int64_t>(a));
  }
}

class Leaks : public Plan {
 protected:
  Leaks() {
    const Fillers fillers(files, chunker, 30, C / 2);
    auto groups = select_questions(questions(6), chunker, {}, {.samples = 3}, 100);
    plan = plan_stream(groups.memories.at(0), fillers.list(17, 1, 0), 0, 20, 1, 0);
    for (const Asking& asking : plan.askings)
      prompts.push_back("Question: " + asking.question.question + "\nAnswer:");
  }
  MemoryPlan plan;
  std::vector<std::string> prompts;
};

TEST_F(Leaks, ACleanPlanPasses) { EXPECT_NO_THROW(check_leaks(plan, prompts)); }

TEST_F(Leaks, GoldTextInAnotherChunkFails) {
  auto other = static_cast<std::size_t>(plan.place[1] == 0 ? 1 : 0);
  while (plan.chunks[other].asking >= 0) ++other;
  plan.chunks[other].text += "  " + plan.askings[1].question.passage;
  expect_error(ErrorCode::corrupt, {"leak", plan.askings[1].question.id, plan.chunks[other].origin},
               [&] { check_leaks(plan, prompts); });
}

TEST_F(Leaks, AnAnswerInThePromptFails) {
  prompts[2] += " " + plan.askings[2].question.answers[0];
  expect_error(ErrorCode::corrupt, {"leak", "prompt", plan.askings[2].question.id},
               [&] { check_leaks(plan, prompts); });
}

TEST_F(Leaks, APassageThatIsNotThereFails) {
  plan.chunks[static_cast<std::size_t>(plan.place[0])].text = "something else";
  expect_error(ErrorCode::corrupt, {plan.askings[0].question.id}, [&] { check_leaks(plan, prompts); });
}

}  // namespace
}  // namespace mplus::eval
