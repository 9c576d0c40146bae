// Lessons: functions of seed and step, made by any thread, of which processes take their shares.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "mplus/core/text.h"
#include "mplus/train/lessons/lesson.h"
#include "mplus/train/lessons/lesson_queue.h"
#include "tests/train/lessons/lesson_fixture.h"

namespace mplus::train {
namespace {

LessonOptions small_lessons() {
  LessonOptions options;
  options.chunk.length = 64;
  options.streams = 3;
  options.lives = {3, 5};
  options.chunk.twice = .2;
  options.chunk.document = .1;
  return options;
}

TEST(TrainLessons, AreFunctionsOfTheStep) {
  const LessonMaker a(shared(), small_lessons(), 9, 40), b(shared(), small_lessons(), 9, 40);
  LessonQueue queue(b, 0, 40, 4);
  for (std::int64_t step = 0; step < 40; ++step) {
    const Lesson one = a.lesson(step), two = queue.next();
    EXPECT_EQ(one.writes, two.writes) << step;
    ASSERT_EQ(one.reads.size(), two.reads.size());
    for (std::size_t r = 0; r < one.reads.size(); ++r)
      EXPECT_EQ(one.reads[r].tokens, two.reads[r].tokens) << step;
  }
}

TEST(TrainLessons, ChangedFactsAreAskedForByChoice) {
  LessonOptions options = small_lessons();
  options.chunk.kinds.assign(kKinds, 0);
  options.chunk.kinds[static_cast<std::size_t>(ChunkKind::facts)] = 1;
  options.chunk.document = 0;
  options.chunk.twice = .5;
  options.unknown = options.talk = options.reread = 0;
  const auto share_of = [&](double changed) {
    options.changed = changed;
    const LessonMaker maker(shared(), options, 9, 60);
    const ChunkMaker chunks(shared(), options.chunk, 9);
    int asked = 0, total = 0;
    for (std::int64_t step = 0; step < 60; ++step) {
      const Lesson lesson = maker.lesson(step);
      if (lesson.memory != MemoryUse::fresh || lesson.writes.size() < 3) continue;
      for (const Read& read : lesson.reads)
        for (std::size_t b = 0; b < read.update.size(); ++b, ++total)
          asked += read.distractor[b] >= 0 && read.update[b] > read.distractor[b] &&
                   chunks.changed_by({.life = (1u << 31) + static_cast<std::uint32_t>(step),
                                      .update = static_cast<std::uint32_t>(read.update[b]),
                                      .stream = static_cast<std::uint32_t>(b)})
                           .value_or(ChunkId{.update = ~0u})
                           .update == static_cast<std::uint32_t>(read.distractor[b]);
    }
    EXPECT_GT(total, 40);
    return static_cast<double>(asked) / total;
  };
  EXPECT_GT(share_of(1), share_of(0) + .2);
}

// Given a chunk that does not tell what is asked for, the answer is that there is none.
TEST(TrainLessons, QuestionsThatGoAstrayHaveNoAnswer) {
  LessonOptions options = small_lessons();
  options.chunk.kinds.assign(kKinds, 0);
  options.chunk.kinds[static_cast<std::size_t>(ChunkKind::facts)] = .7;
  options.chunk.kinds[static_cast<std::size_t>(ChunkKind::chat)] = .3;
  options.chunk.document = 0;
  options.unknown = options.talk = options.reread = 0;
  options.focus = 1;
  const ChunkMaker chunks(shared(), options.chunk, 9);
  const auto asks = [](const Chunk& chunk, const std::string& text) {
    return std::any_of(chunk.facts.begin(), chunk.facts.end(), [&](const MadeFact& fact) {
      return std::any_of(fact.questions.begin(), fact.questions.end(),
                         [&](const std::string& question) { return text.find(question) != text.npos; });
    });
  };
  for (const double astray : {0., 1.}) {
    options.astray = astray;
    const LessonMaker maker(shared(), options, 9, 60);
    int total = 0, left = 0;
    double shared_with_given = 0,
           shared_with_any = 0;  // tokens of questions; on average of those that do not tell
    for (std::int64_t step = 0; step < 60; ++step) {
      const Lesson lesson = maker.lesson(step);
      if (lesson.memory != MemoryUse::fresh || lesson.writes.size() < 3) continue;
      for (const Read& read : lesson.reads) {
        EXPECT_TRUE(read.focused);
        for (std::size_t b = 0; b < read.update.size(); ++b, ++total) {
          const std::span tokens =
              std::span(read.tokens)
                  .subspan(b * static_cast<std::size_t>(read.T), static_cast<std::size_t>(read.T));
          const std::string text = shared().tokenizer.decode({tokens.begin(), tokens.end()});
          if (text.find(unknown_answer()) == text.npos) continue;
          ++left;
          ASSERT_GE(read.update[b], 0);
          EXPECT_EQ(read.distractor[b], -1);
          ChunkId id{.life = (1u << 31) + static_cast<std::uint32_t>(step),
                     .update = static_cast<std::uint32_t>(read.update[b]),
                     .stream = static_cast<std::uint32_t>(b)};
          EXPECT_FALSE(asks(chunks.chunk(id), text)) << text;
          const std::span weight =
              std::span(read.weight)
                  .subspan(b * static_cast<std::size_t>(read.T), static_cast<std::size_t>(read.T));
          const Window window{.tokens = {tokens.begin(), tokens.end()},
                              .weight = {weight.begin(), weight.end()},
                              .asks_from = read.from[b],
                              .asks_to = read.to[b]};
          const auto given = chunks.misleads(window, id);
          ASSERT_TRUE(given.has_value());
          shared_with_given += static_cast<double>(*given);
          double all = 0, chunks_of_all = 0;
          for (ChunkId any{.life = id.life, .stream = id.stream}; any.update < lesson.writes.size();
               ++any.update) {
            if (asks(chunks.chunk(any), text)) continue;
            all += static_cast<double>(chunks.misleads(window, any).value());
            ++chunks_of_all;
          }
          shared_with_any += all / chunks_of_all;
          bool told = false;
          for (id.update = 0; id.update < lesson.writes.size(); ++id.update)
            told |= asks(chunks.chunk(id), text);
          EXPECT_TRUE(told) << text;
        }
      }
    }
    EXPECT_GT(total, 40);
    if (astray == 0) {
      EXPECT_EQ(left, 0);
    } else {
      EXPECT_GT(left, total / 2);
      EXPECT_GT(shared_with_given, 1.05 * shared_with_any);
    }
  }
}

TEST(TrainLessons, WhatMisleadsDoesNotSayTheAnswer) {
  ChunkOptions options = small_lessons().chunk;
  options.kinds.assign(kKinds, 0);
  options.kinds[static_cast<std::size_t>(ChunkKind::facts)] = 1;
  options.document = options.twice = 0;
  const ChunkMaker chunks(shared(), options, 9);
  int asked = 0, others = 0;
  for (std::uint32_t stream = 0; stream < 40; ++stream) {
    Random draw(9, {.purpose = 1, .stream = stream});
    const ChunkId right{.life = 3, .update = 0, .stream = stream};
    const auto window = chunks.ask(right, {.newest = 5, .most = 96}, draw);
    if (!window) continue;
    ++asked;
    EXPECT_EQ(chunks.misleads(*window, right), std::nullopt);
    const std::string said = answer_of(*window), answer(trim(said.substr(0, said.find("<|"))));
    for (std::uint32_t update = 1; update < 6; ++update) {
      const ChunkId id{.life = 3, .update = update, .stream = stream};
      const auto shares = chunks.misleads(*window, id);
      const std::vector<std::int32_t> tokens = chunks.chunk(id).tokens;
      EXPECT_EQ(shares.has_value(), !contains_ignoring_case(text_of(tokens), answer));
      if (!shares) continue;
      ++others;
      std::set<std::int32_t> both;
      for (std::int64_t i = window->asks_from; i < window->asks_to; ++i) {
        const std::int32_t token = window->tokens[static_cast<std::size_t>(i)];
        if (std::find(tokens.begin(), tokens.end(), token) != tokens.end()) both.insert(token);
      }
      EXPECT_EQ(*shares, std::ssize(both));
    }
  }
  EXPECT_GT(asked, 30);
  EXPECT_GT(others, 120);
}

TEST(TrainLessons, LivesBeginEmptyAndAreWrittenInOrder) {
  const LessonMaker maker(shared(), small_lessons(), 9, 200);
  std::int64_t updates = 0;
  bool alive = false;
  for (std::int64_t step = 0; step < 200; ++step) {
    const Lesson lesson = maker.lesson(step);
    const std::int64_t left = maker.left_of_life(step);
    if (left == 0) alive = false;
    else EXPECT_EQ(maker.left_of_life(step + 1), left - 1);
    if (lesson.memory == MemoryUse::none) {
      EXPECT_TRUE(lesson.writes.empty());
      continue;
    }
    EXPECT_FALSE(lesson.writes.empty());
    const auto total = lesson.updates + static_cast<std::int64_t>(lesson.writes.size());
    if (lesson.memory == MemoryUse::live) {
      EXPECT_EQ(lesson.begins, !alive) << step;
      EXPECT_EQ(lesson.updates, lesson.begins ? 0 : updates) << step;
      updates = total;
      alive = true;
    } else {
      EXPECT_TRUE(lesson.begins);
    }
    for (const Read& read : lesson.reads)
      for (const std::int64_t update : read.update) EXPECT_LT(update, total);
  }
}

TEST(TrainLessons, ProcessesMakeTheStreamsOfOne) {
  LessonOptions options = small_lessons();
  options.streams = 7;  // 3 in lessons of long windows
  options.context = .3;
  const LessonMaker all(shared(), options, 9, 30);
  std::vector<LessonMaker> shares;
  for (std::int64_t p = 0; p < 3; ++p) shares.emplace_back(shared(), options, 9, 30, Share{p, 3});
  // Rows of a [B, length] matrix, without what was filled up.
  const auto rows = [](const std::vector<std::int32_t>& tokens, std::size_t B) {
    std::vector<std::vector<std::int32_t>> out;
    const auto length = static_cast<std::ptrdiff_t>(tokens.size() / B);
    for (std::size_t b = 0; b < B; ++b) {
      const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(b) * length;
      auto& row = out.emplace_back(begin, begin + length);
      while (!row.empty() && row.back() == 0) row.pop_back();
    }
    return out;
  };
  for (std::int64_t step = 0; step < 30; ++step) {
    const Lesson whole = all.lesson(step);
    std::size_t at = 0;
    for (const LessonMaker& maker : shares) {
      const Lesson part = maker.lesson(step);
      EXPECT_EQ(part.first, static_cast<std::int64_t>(at));
      EXPECT_EQ(part.streams, whole.streams);
      ASSERT_EQ(part.writes.size(), whole.writes.size());
      ASSERT_EQ(part.reads.size(), whole.reads.size());
      const std::size_t B = part.reads[0].update.size(), of = whole.reads[0].update.size();
      ASSERT_GT(B, 0u);
      const auto same = [&](const std::vector<std::int32_t>& a, const std::vector<std::int32_t>& b) {
        const auto mine = rows(a, B), theirs = rows(b, of);
        for (std::size_t i = 0; i < B; ++i) EXPECT_EQ(mine[i], theirs[at + i]) << "step " << step;
      };
      for (std::size_t w = 0; w < part.writes.size(); ++w) same(part.writes[w], whole.writes[w]);
      for (std::size_t r = 0; r < part.reads.size(); ++r) same(part.reads[r].tokens, whole.reads[r].tokens);
      at += B;
    }
    EXPECT_EQ(at, static_cast<std::size_t>(whole.streams));
  }
}

TEST(TrainLessons, PaddingIsNoTarget) {
  const LessonMaker maker(shared(), small_lessons(), 4, 20);
  for (std::int64_t step = 0; step < 20; ++step)
    for (const Read& read : maker.lesson(step).reads) {
      EXPECT_EQ(read.tokens.size(), read.weight.size());
      const auto T = static_cast<std::size_t>(read.T);
      for (std::size_t b = 0; b < read.update.size(); ++b) {
        std::size_t end = T;  // of the window: the last token with a weight
        while (end > 0 && read.weight[b * T + end - 1] == 0) --end;
        EXPECT_GT(end, 0u);
        EXPECT_LE(read.to[b], static_cast<std::int64_t>(end));
      }
    }
}

}  // namespace
}  // namespace mplus::train
