// Chunks, questions on them and lessons: functions of seed and place, with answers that stand where they
// should.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "../io/tokenizer_fixtures.h"
#include "mplus/core/text.h"
#include "mplus/train/lessons/lesson.h"
#include "mplus/train/lessons/lesson_queue.h"

namespace mplus::train {
namespace {

Material material() {
  Material m{.tokenizer = io::test::smollm2(),
             .chat = {},
             .texts = {},
             .text_weights = {1},
             .questions = {},
             .question_weights = {1}};
  m.chat = io::ChatTemplate::pick(m.tokenizer, "");
  TextSet text{.name = "text", .sha256 = "", .tokens = {}, .starts = {0}, .hashes = {}};
  for (int document = 0; document < 3; ++document) {
    std::string words;
    for (int i = 0; i < 900; ++i) words += " word" + std::to_string(document * 1000 + i);
    const auto tokens = m.tokenizer.encode(words);
    text.tokens.insert(text.tokens.end(), tokens.begin(), tokens.end());
    text.starts.push_back(static_cast<std::int64_t>(text.tokens.size()));
    text.hashes.push_back(static_cast<std::uint64_t>(document) + 1);
  }
  m.texts.push_back(text);
  QuestionSet set;
  for (int p = 0; p < 8; ++p) {
    const std::string context =
        "Passage " + std::to_string(p) + " says that the colour is shade" + std::to_string(p) + ".";
    const auto tokens = m.tokenizer.encode(context);
    set.passages.push_back(
        {static_cast<std::int64_t>(set.tokens.size()), static_cast<std::int64_t>(tokens.size()), p, 7});
    set.tokens.insert(set.tokens.end(), tokens.begin(), tokens.end());
    const auto gap = m.tokenizer.encode("\n\n");
    set.tokens.insert(set.tokens.end(), gap.begin(), gap.end());
    set.questions.push_back(
        {p, "Which colour does passage " + std::to_string(p) + " name?", "shade" + std::to_string(p)});
  }
  m.questions.push_back(set);
  return m;
}

const Material& shared() {
  static const Material m = material();
  return m;
}

std::string text_of(const std::vector<std::int32_t>& tokens) {
  return shared().tokenizer.decode(tokens, false);
}

// The tokens of a window whose weight as a target is 1.
std::string answer_of(const Window& w) {
  std::vector<std::int32_t> said;
  for (std::size_t i = 0; i < w.tokens.size(); ++i)
    if (w.weight[i] == 1) said.push_back(w.tokens[i]);
  return text_of(said);
}

ChunkOptions of_kind(Kind kind) {
  ChunkOptions options;
  options.length = 128;
  options.kinds.assign(kKinds, 0);
  options.kinds[static_cast<std::size_t>(kind)] = 1;
  return options;
}

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
  for (const Kind kind : {Kind::facts, Kind::chat}) {
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
      const auto window = maker.ask(id, 0, draw, 96, false);
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

TEST(TrainChunks, TheNewestValueOfAFactIsTheAnswer) {
  ChunkOptions options = of_kind(Kind::facts);
  options.twice = 1;
  const ChunkMaker maker(shared(), options, 3);
  int changed = 0;
  for (std::uint32_t stream = 0; stream < 30; ++stream) {
    const Chunk old = maker.chunk({.stream = stream}), late = maker.chunk({.update = 1, .stream = stream});
    for (std::uint32_t i = 0; i < 20; ++i) {
      Random draw(i, {.stream = stream});
      const auto window = maker.ask({.stream = stream}, 1, draw, 96, false);
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
  ChunkOptions options = of_kind(Kind::passage);
  options.length = 24;
  const ChunkMaker maker(shared(), options, 3);
  int asked = 0;
  for (std::uint32_t stream = 0; stream < 60; ++stream) {
    Random draw(1, {.stream = stream});
    const auto window = maker.ask({.stream = stream}, 0, draw, 96, true);
    if (!window) continue;
    ++asked;
    const std::string text = text_of(maker.chunk({.stream = stream}).tokens), answer = answer_of(*window);
    EXPECT_NE(text.find(answer.substr(1, answer.size() - 2)), text.npos) << answer << " in " << text;
  }
  EXPECT_GT(asked, 20);
}

TEST(TrainChunks, ADocumentGoesOnFromUpdateToUpdate) {
  ChunkOptions options = of_kind(Kind::facts);
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
  const ChunkMaker maker(shared(), of_kind(Kind::text), 3);
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
  const ChunkMaker maker(shared(), of_kind(Kind::passage), 3);
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
  EXPECT_FALSE(ChunkMaker(shared(), of_kind(Kind::facts), 3).pose({}, draw, 96));
}

TEST(TrainChunks, ARepeatedChunkIsSaidWhole) {
  const ChunkMaker maker(shared(), of_kind(Kind::facts), 3);
  const ChunkId id{.stream = 2};
  const Window window = maker.repeat(id);
  const std::vector<std::int32_t> said(window.tokens.begin() + window.asks_to, window.tokens.end());
  EXPECT_EQ(said, maker.chunk(id).tokens);
  EXPECT_GT(window.weight[static_cast<std::size_t>(window.asks_to)],
            window.weight[static_cast<std::size_t>(window.asks_to) - 1]);
}

TEST(TrainChunks, TextIsCutOutOfOneDocumentWhereThatIsLongEnough) {
  ChunkOptions options = of_kind(Kind::text);
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
  for (const Kind kind : {Kind::passage, Kind::chat}) {
    const ChunkMaker maker(shared(), of_kind(kind), 3);
    Random draw(2, {});
    const ChunkId id{.stream = 1};
    const auto asked = maker.ask(id, 0, draw, 96, false);
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
  const ChunkMaker maker(shared(), of_kind(Kind::chat), 3);
  for (std::uint32_t i = 0; i < 20; ++i) {
    Random draw(i, {});
    const Window window = maker.talk(draw);
    const std::string reply = answer_of(window);
    EXPECT_TRUE(reply.ends_with("<|im_end|>\n")) << reply;
    EXPECT_EQ(reply.find("I do not know"), reply.npos);
    EXPECT_EQ(window.update, -1);
  }
}

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
  options.chunk.kinds[static_cast<std::size_t>(Kind::facts)] = 1;
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
  options.chunk.kinds[static_cast<std::size_t>(Kind::facts)] = .7;
  options.chunk.kinds[static_cast<std::size_t>(Kind::chat)] = .3;
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
  options.kinds[static_cast<std::size_t>(Kind::facts)] = 1;
  options.document = options.twice = 0;
  const ChunkMaker chunks(shared(), options, 9);
  int asked = 0, others = 0;
  for (std::uint32_t stream = 0; stream < 40; ++stream) {
    Random draw(9, {.purpose = 1, .stream = stream});
    const ChunkId right{.life = 3, .update = 0, .stream = stream};
    const auto window = chunks.ask(right, 5, draw, 96, false);
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
