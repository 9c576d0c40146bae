// Chunks and questions on them: functions of seed and place, with answers that stand where they should.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "tests/train/lessons/lesson_fixture.h"

namespace mplus::train {
namespace {

TEST(TrainChunks, AreFunctionsOfTheirPlace) {
  ChunkOptions options;
  options.length = 128;
  options.twice = .3;
  options.document = .2;
  options.short_share = .3;
  const ChunkMaker a(shared(), options, 5), b(shared(), options, 5), other(shared(), options, 6);
  int same_as_other = 0, total = 0;
  for (std::uint32_t life = 0; life < 4; ++life)
    for (std::uint32_t update = 0; update < 5; ++update)
      for (std::uint32_t stream = 0; stream < 3; ++stream) {
        const ChunkId id{.life = life, .update = update, .stream = stream};
        const Chunk chunk = a.chunk(id);
        EXPECT_EQ(static_cast<std::int64_t>(chunk.tokens.size()), a.length(life, update));
        EXPECT_EQ(chunk.tokens, b.chunk(id).tokens);
        same_as_other += chunk.tokens == other.chunk(id).tokens;
        ++total;
      }
  EXPECT_LT(same_as_other, total / 4);
}

TEST(TrainChunks, FactsStandInTheChunkAndTheirAnswersInTheWindow) {
  for (const ChunkKind kind : {ChunkKind::facts, ChunkKind::chat}) {
    const ChunkMaker maker(shared(), of_kind(kind), 3);
    int asked = 0;
    for (std::uint32_t stream = 0; stream < 40; ++stream) {
      const ChunkId id{.stream = stream};
      const Chunk chunk = maker.chunk(id);
      const std::string text = text_of(chunk.tokens);
      for (const MadeFact& fact : chunk.facts) {
        const bool told = std::any_of(fact.statements.begin(), fact.statements.end(),
                                      [&](const std::string& s) { return text.find(s) != text.npos; });
        EXPECT_TRUE(told) << fact.key << " in " << text;
      }
      Random draw(1, {.stream = stream});
      const auto window = maker.ask(id, {.newest = 0, .most = 96}, draw);
      if (!window) continue;
      ++asked;
      const std::string answer = answer_of(*window);
      const bool known = std::any_of(chunk.facts.begin(), chunk.facts.end(), [&](const MadeFact& f) {
        return answer == " " + f.answer + "\n" || answer.starts_with(f.answer + "<|im_end|>");
      });
      EXPECT_TRUE(known) << answer;
      EXPECT_EQ(window->update, 0);
      EXPECT_LT(window->asks_from, window->asks_to);
      EXPECT_LT(window->weight[static_cast<std::size_t>(window->asks_to) - 1], 1);
      const std::string asks =
          text_of({window->tokens.begin() + window->asks_from, window->tokens.begin() + window->asks_to});
      EXPECT_EQ(asks.find("<|im_"), asks.npos) << asks;  // of a message its text alone
    }
    EXPECT_GT(asked, 30) << kind_name(kind);
  }
}

// What is asked for is told by no chunk of the life, and the chunk it is mistaken for is the one to be read.
TEST(TrainChunks, WhatAFactIsMistakenForIsNotKnown) {
  for (const double share : {0., .5, 1.}) {
    ChunkOptions options = of_kind(ChunkKind::facts);
    options.mistaken = share;
    const ChunkMaker maker(shared(), options, 5);
    int asked = 0, unanswered = 0;
    for (std::uint32_t stream = 0; stream < 60; ++stream) {
      const ChunkId id{.life = 2, .update = 1, .stream = stream};
      Random draw(5, {.purpose = 1, .stream = stream});
      const auto window = maker.ask(id, {.newest = 1, .most = 96}, draw);
      if (!window) continue;
      ++asked;
      EXPECT_EQ(window->update, 1);
      EXPECT_EQ(answer_of(*window).find(unknown_answer()) != std::string::npos, window->unanswered);
      unanswered += window->unanswered;
      if (!window->unanswered) continue;
      const std::string text = text_of(window->tokens);
      for (std::uint32_t update = 0; update < 8; ++update)
        for (const MadeFact& fact : maker.chunk({.life = 2, .update = update, .stream = stream}).facts)
          for (const std::string& question : fact.questions)
            EXPECT_EQ(text.find(question), text.npos) << text;
    }
    EXPECT_GT(asked, 50);
    EXPECT_NEAR(unanswered, share * asked, .2 * asked * (share > 0)) << share;
  }
}

TEST(TrainChunks, TheNewestValueOfAFactIsTheAnswer) {
  ChunkOptions options = of_kind(ChunkKind::facts);
  options.twice = 1;
  const ChunkMaker maker(shared(), options, 3);
  int changed = 0;
  for (std::uint32_t stream = 0; stream < 30; ++stream) {
    const Chunk old = maker.chunk({.stream = stream}), late = maker.chunk({.update = 1, .stream = stream});
    for (std::uint32_t i = 0; i < 20; ++i) {
      Random draw(i, {.stream = stream});
      const auto window = maker.ask({.stream = stream}, {.newest = 1, .most = 96}, draw);
      ASSERT_TRUE(window);
      if (window->update != 1) continue;
      ++changed;
      EXPECT_EQ(window->rival, 0);
      const std::string answer = answer_of(*window);
      const auto says = [&](const Chunk& chunk) {
        return std::any_of(chunk.facts.begin(), chunk.facts.end(),
                           [&](const MadeFact& f) { return answer == " " + f.answer + "\n"; });
      };
      EXPECT_TRUE(says(late)) << answer;
    }
  }
  EXPECT_GT(changed, 10);
}

TEST(TrainChunks, PassagesAreAskedOnlyWhereTheAnswerWasCutOut) {
  ChunkOptions options = of_kind(ChunkKind::passage);
  options.length = 24;
  const ChunkMaker maker(shared(), options, 3);
  int asked = 0;
  for (std::uint32_t stream = 0; stream < 60; ++stream) {
    Random draw(1, {.stream = stream});
    const auto window = maker.ask({.stream = stream}, {.newest = 0, .most = 96, .several = true}, draw);
    if (!window) continue;
    ++asked;
    const std::string text = text_of(maker.chunk({.stream = stream}).tokens), answer = answer_of(*window);
    EXPECT_NE(text.find(answer.substr(1, answer.size() - 2)), text.npos) << answer << " in " << text;
  }
  EXPECT_GT(asked, 20);
}

TEST(TrainChunks, QuestionsOnPassagesAreTypedInSmallLetters) {
  ChunkOptions options = of_kind(ChunkKind::passage);
  for (const double share : {0., .5, 1.}) {
    options.typed = share;
    const ChunkMaker maker(shared(), options, 3);
    int typed = 0;
    for (std::uint32_t stream = 0; stream < 60; ++stream) {
      Random draw(1, {.stream = stream});
      const auto window = maker.ask({.stream = stream}, {.newest = 0, .most = 96}, draw);
      ASSERT_TRUE(window);
      const std::string text = text_of(window->tokens);
      const bool small = text.starts_with("Question: which colour does passage ");
      EXPECT_TRUE(small || text.starts_with("Question: Which colour does passage ")) << text;
      EXPECT_EQ(text.find('?') == text.npos, small) << text;
      EXPECT_NE(text.find(" name\nAnswer: shade") == text.npos, small) << text;
      typed += small;
    }
    EXPECT_NEAR(typed, share * 60, 15 * (share > 0 && share < 1)) << share;
  }
}

TEST(TrainChunks, ADocumentGoesOnFromUpdateToUpdate) {
  ChunkOptions options = of_kind(ChunkKind::facts);
  options.document = 1;
  options.length = 32;
  options.short_share = .5;
  const ChunkMaker maker(shared(), options, 3);
  const Chunk first = maker.chunk({.life = 2}), second = maker.chunk({.life = 2, .update = 1});
  EXPECT_EQ(second.start, first.start + static_cast<std::int64_t>(first.tokens.size()));
  const auto next = maker.follow_document({.life = 2}, 8);
  ASSERT_TRUE(next);
  EXPECT_TRUE(std::equal(next->tokens.begin(), next->tokens.end(), second.tokens.begin()));
}

TEST(TrainChunks, ATextIsComeBackToOnlyWhereItWasLeft) {
  const ChunkMaker maker(shared(), of_kind(ChunkKind::text), 3);
  const std::vector<std::int32_t>& all = shared().texts[0].tokens;
  int left = 0, gone_on = 0;
  for (std::uint32_t stream = 0; stream < 60; ++stream) {
    const ChunkId id{.stream = stream};
    const Chunk chunk = maker.chunk(id), next = maker.chunk({.update = 1, .stream = stream});
    const std::int64_t end = chunk.start + static_cast<std::int64_t>(chunk.tokens.size());
    const auto window = maker.come_back(id, 1, 20);
    EXPECT_EQ(window.has_value(), next.start != end);
    ++(window ? left : gone_on);
    if (!window) continue;
    for (std::size_t t = 0; t < 20; ++t)
      EXPECT_EQ(window->tokens[t], all[(static_cast<std::size_t>(end) + t) % all.size()]);
    EXPECT_EQ(window->update, 0);
  }
  EXPECT_GT(left, 10);
  EXPECT_GT(gone_on, 10);
}

TEST(TrainChunks, QuestionsAreMadeUpBehindTheirPassage) {
  const ChunkMaker maker(shared(), of_kind(ChunkKind::passage), 3);
  const QuestionSet& set = shared().questions[0];
  for (std::uint32_t stream = 0; stream < 8; ++stream) {
    const ChunkId id{.stream = stream};
    Random draw(1, {.stream = stream});
    const auto window = maker.pose(id, draw, 96);
    ASSERT_TRUE(window);
    const auto passage = static_cast<std::size_t>(maker.chunk(id).passage);
    const std::string text = text_of(window->tokens);
    EXPECT_TRUE(text.starts_with("Passage " + std::to_string(passage) + " says"));
    EXPECT_EQ(answer_of(*window), " " + set.questions[passage].question +
                                      "\nAnswer: " + set.questions[passage].answer + "\n\nQuestion:");
    EXPECT_FALSE(maker.pose(id, draw, 4)) << "no room for a question";
  }
  Random draw(1, {});
  EXPECT_FALSE(ChunkMaker(shared(), of_kind(ChunkKind::facts), 3).pose({}, draw, 96));
}

TEST(TrainChunks, ARepeatedChunkIsSaidWhole) {
  const ChunkMaker maker(shared(), of_kind(ChunkKind::facts), 3);
  const ChunkId id{.stream = 2};
  const Window window = maker.repeat(id);
  const std::vector<std::int32_t> said(window.tokens.begin() + window.asks_to, window.tokens.end());
  EXPECT_EQ(said, maker.chunk(id).tokens);
  EXPECT_GT(window.weight[static_cast<std::size_t>(window.asks_to)],
            window.weight[static_cast<std::size_t>(window.asks_to) - 1]);
}

TEST(TrainChunks, TextIsCutOutOfOneDocumentWhereThatIsLongEnough) {
  ChunkOptions options = of_kind(ChunkKind::text);
  options.length = 64;
  const ChunkMaker maker(shared(), options, 4);
  const std::vector<std::int64_t>& starts = shared().texts[0].starts;
  std::set<std::ptrdiff_t> documents;
  for (std::uint32_t stream = 0; stream < 300; ++stream) {
    const Chunk chunk = maker.chunk({.stream = stream});
    const auto ends = std::upper_bound(starts.begin(), starts.end(), chunk.start);
    EXPECT_LE(chunk.start + 64, *ends);
    documents.insert(ends - starts.begin());
  }
  EXPECT_EQ(documents.size(), 3u);
}

TEST(TrainChunks, APassageReadAgainStandsInFrontOfTheQuestion) {
  for (const ChunkKind kind : {ChunkKind::passage, ChunkKind::chat}) {
    const ChunkMaker maker(shared(), of_kind(kind), 3);
    Random draw(2, {});
    const ChunkId id{.stream = 1};
    const auto asked = maker.ask(id, {.newest = 0, .most = 96}, draw);
    ASSERT_TRUE(asked);
    Window again = *asked;
    maker.reread(again, id);
    const std::string text = text_of(again.tokens);
    const std::size_t mark = text.find("Remembered text:\n");
    ASSERT_NE(mark, text.npos);
    EXPECT_EQ(answer_of(again), answer_of(*asked));
    EXPECT_EQ(again.tokens.size(), again.weight.size());
    EXPECT_EQ(again.asks_to - again.asks_from, asked->asks_to - asked->asks_from);
    const std::vector<std::int32_t> asks(again.tokens.begin() + again.asks_from,
                                         again.tokens.begin() + again.asks_to);
    EXPECT_GT(text.find(text_of(asks)), mark);
  }
}

TEST(TrainChunks, TalkHasAReply) {
  const ChunkMaker maker(shared(), of_kind(ChunkKind::chat), 3);
  for (std::uint32_t i = 0; i < 20; ++i) {
    Random draw(i, {});
    const Window window = maker.talk(draw);
    const std::string reply = answer_of(window);
    EXPECT_TRUE(reply.ends_with("<|im_end|>\n")) << reply;
    EXPECT_EQ(reply.find("I do not know"), reply.npos);
    EXPECT_EQ(window.update, -1);
  }
}

}  // namespace
}  // namespace mplus::train
