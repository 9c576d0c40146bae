// Laws of a session.
#include "mplus/engine/session.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include "mplus/core/error.h"
#include "mplus/engine/files/session_file.h"
#include "mplus/engine/replay.h"
#include "tests/engine/tiny_engine.h"
#include "tests/memory/same_rows.h"

namespace mplus::engine {
namespace {

void expect_same_slots(const memory::Memory& a, const memory::Memory& b) {
  ASSERT_EQ(a.updates(), b.updates());
  for (std::int64_t l = 0; l < a.layout().layers; ++l) {
    const memory::RowsView x = a.short_term(l), y = b.short_term(l);
    ASSERT_EQ(x.n, y.n);
    EXPECT_TRUE(memory::same_rows(a.layout(), x, y));
    EXPECT_EQ(a.long_term().size(l), b.long_term().size(l));
  }
}

TEST(Session, SameTextAndSeedSameMemoryWithAnyThreads) {
  Engine one(tiny_options(1)), two(tiny_options(2));
  Session a(one, 7), b(two, 7), other(one, 8);
  for (Session* s : {&a, &b, &other}) s->remember_ids(random_ids(3000, 1), "text");
  expect_same_slots(a.memory(), b.memory());
  EXPECT_NE(std::memcmp(a.memory().short_term(0).birth, other.memory().short_term(0).birth, 30 * 8), 0)
      << "another seed drops other slots";
}

TEST(Session, WritingAThenBEqualsWritingBothAtAChunkBoundary) {
  Engine engine(tiny_options());
  const auto a = random_ids(1024, 1), b = random_ids(700, 2);
  auto both = a;
  both.insert(both.end(), b.begin(), b.end());
  Session apart(engine), together(engine);
  apart.remember_ids(a, "a");
  apart.remember_ids(b, "b");
  together.remember_ids(both, "ab");
  expect_same_slots(apart.memory(), together.memory());
  EXPECT_EQ(next_tokens(apart), next_tokens(together));
}

TEST(Session, AReadChangesNothing) {
  Engine engine(tiny_options());
  Session session(engine);
  session.remember_ids(random_ids(1500, 1), "text");
  const Session before = session.fork();
  const auto first = next_tokens(session);
  GenerateOptions options;
  options.max_tokens = 5;
  session.generate_ids(random_ids(5000, 3), options);  // longer than the window: writes, but on a fork
  session.score(random_ids(40, 4));
  expect_same_slots(before.memory(), session.memory());
  EXPECT_EQ(session.record().sources(), before.record().sources());
  EXPECT_EQ(next_tokens(session), first);
}

TEST(Session, ShortTextWaitsAndIsRead) {
  Engine engine(tiny_options());  // K = 5, C = 512
  Session session(engine);
  const auto empty = next_tokens(session);
  EXPECT_EQ(session.remember_ids(random_ids(4, 1), "note").updates, 0);
  EXPECT_EQ(session.window().size(), 4u);
  EXPECT_EQ(session.memory().updates(), 0);
  EXPECT_NE(next_tokens(session), empty) << "what waits is in the window";
  EXPECT_EQ(session.flush(), 0) << "fewer than 16 tokens are never written alone";
  EXPECT_EQ(session.remember_ids(random_ids(4, 2), "note 2").updates, 0);
  EXPECT_EQ(session.remember_ids(random_ids(20, 3), "longer").updates, 1)
      << "longer text takes what waited along";
  EXPECT_TRUE(session.window().empty());
  EXPECT_EQ(session.record().spans(0).size(), 3u);
}

TEST(Session, WaitingTextIsWrittenWhenAChunkHasComeTogether) {
  Engine engine(tiny_options());
  Session session(engine);
  for (unsigned i = 0; i < 128; ++i)
    EXPECT_EQ(session.remember_ids(random_ids(4, i), "note").updates, i == 127 ? 1 : 0);
  EXPECT_TRUE(session.window().empty());
  session.remember_ids(random_ids(3, 1), "x");
  for (unsigned i = 0; i < 5; ++i) session.remember_ids(random_ids(4, i), "y");
  EXPECT_EQ(session.flush(), 1);
  EXPECT_TRUE(session.window().empty());
}

TEST(Session, PromptsLongerThanTheWindowAreWrittenAndAnswered) {
  Engine engine(tiny_options());
  Session session(engine);
  const auto prompt = random_ids(2048 + 900, 1);
  GenerateOptions options;
  options.max_tokens = 8;
  const Answer answer = session.generate_ids(prompt, options);
  EXPECT_EQ(answer.tokens.size(), 8u);
  EXPECT_EQ(answer.prompt_tokens, 2048);
  // The same by hand: what does not fit is remembered first.
  Session by_hand(engine);
  by_hand.remember_ids(std::span(prompt).first(900), "front");
  EXPECT_EQ(by_hand.generate_ids(std::span(prompt).last(2048), options).tokens, answer.tokens);
}

TEST(Session, GeneratingPastTheWindowWritesAndGoesOn) {
  Engine engine(tiny_options());
  Session session(engine);
  GenerateOptions options;
  options.max_tokens = 300;
  options.sampling = {.temperature = 1.5f, .seed = 3};
  const Answer answer = session.generate_ids(random_ids(1900, 1), options);
  EXPECT_TRUE(answer.tokens.size() == 300u || answer.reason == StopReason::end_of_text);
}

TEST(Session, ForkGoesItsOwnWay) {
  Engine engine(tiny_options());
  Session session(engine, 2);
  session.remember_ids(random_ids(2000, 1), "a");
  Session fork = session.fork();
  const auto before = next_tokens(session);
  fork.remember_ids(random_ids(1000, 2), "b");
  EXPECT_EQ(next_tokens(session), before);
  session.remember_ids(random_ids(1000, 2), "b");
  expect_same_slots(session.memory(), fork.memory());
  EXPECT_EQ(next_tokens(session), next_tokens(fork));
}

TEST(Session, EventsComeInOrderAndReplayToTheSameSession) {
  Engine engine(tiny_options());
  Session session(engine, 4);
  struct Logged {
    std::string what;
    std::vector<io::TokenId> ids;
    TextTaken text;
  };
  std::vector<Logged> log;
  const EventSink told = [&](const Event& event) {
    Logged logged{"flush", {}, {}};
    if (const auto* text = std::get_if<TextTaken>(&event)) {
      logged = {fmt::format("{} {}..{}{}", text->source, text->token_begin, text->token_end,
                            text->complete ? "" : "..."),
                {text->ids.begin(), text->ids.end()},
                *text};
      if (!log.empty() && log.back().text.source == text->source &&
          text->token_end > log.back().text.token_end)
        log.pop_back();  // a document told again
    }
    log.push_back(std::move(logged));
  };
  const auto remember = [&](std::string_view source, const std::vector<io::TokenId>& ids,
                            std::int64_t first_token = 0, const Progress& progress = {}) {
    return session.remember({.source = source, .ids = ids, .first_token = first_token}, progress, {}, told);
  };
  const auto long_ids = random_ids(2600, 3);
  remember("a", random_ids(600, 1));
  remember("b", random_ids(4, 2));
  session.flush(told);
  int calls = 0;
  const auto stopped = remember("c", long_ids, 0, [&](auto, auto) { return ++calls <= 2; });
  EXPECT_FALSE(stopped.complete);
  remember("d", random_ids(50, 4));
  remember("c", long_ids, stopped.token_end);
  std::vector<std::string> words;
  for (const Logged& logged : log) words.push_back(logged.what);
  EXPECT_EQ(words, (std::vector<std::string>{"a 0..600", "b 0..4", "flush", "c 0..1020...", "d 0..50",
                                             "c 1020..2600"}));
  Session again(engine, 4);
  for (const Logged& logged : log) {
    if (logged.what == "flush") {
      replay(again, Flushed{}, true);
      continue;
    }
    const std::string source = logged.what.substr(0, 1);
    TextTaken text = logged.text;
    text.ids = logged.ids;
    text.source = source;
    replay(again, text, true);
  }
  expect_same_slots(session.memory(), again.memory());
  EXPECT_EQ(next_tokens(session), next_tokens(again));
  EXPECT_EQ(session.record().sources(), again.record().sources());
}

TEST(Session, ADocumentContinuedEqualsOneWrittenAtOnce) {
  Engine engine(tiny_options());
  const auto ids = random_ids(3000, 1);
  for (const std::int64_t stop_after : {1, 2, 5}) {
    Session whole(engine, 4), parts(engine, 4);
    for (Session* session : {&whole, &parts}) session->remember_ids(random_ids(4, 2), "waits");
    whole.remember_ids(ids, "text");
    RememberResult result;
    for (std::int64_t at = 0; at < 3000; at = result.token_end) {
      std::int64_t calls = 0;
      result = parts.remember(Document{.source = "text", .ids = ids, .first_token = at},
                              [&](auto, auto) { return calls++ < stop_after; });
    }
    EXPECT_EQ(whole.memory().updates(), parts.memory().updates());
    EXPECT_EQ(parts.record().sources(), 2);
    expect_same_slots(whole.memory(), parts.memory());
    EXPECT_EQ(next_tokens(whole), next_tokens(parts));
  }
}

TEST(Session, ForgettingASourceLeavesNothingOfIt) {
  Engine engine(tiny_options());
  Session session(engine, 4);
  session.remember_ids(random_ids(1000, 1), "first");
  session.remember_ids(random_ids(1500, 2), "second");
  session.remember_ids(random_ids(4, 3), "waits");
  const Session before = session.fork();
  const ForgetResult result = session.forget({1, 2});
  EXPECT_EQ(result.window_tokens, 4);
  EXPECT_TRUE(session.window().empty());
  EXPECT_EQ(result.updates, 3);
  EXPECT_EQ(session.record().source(1).name, "");
  EXPECT_EQ(session.memory().tail_rows(), 0);
  const std::int64_t K = engine.layout().K;
  for (std::int64_t l = 0; l < engine.layout().layers; ++l) {
    const memory::RowsView rows = session.memory().short_term(l);
    for (std::int64_t r = 0; r < rows.n; ++r)
      for (const Span& span : before.record().spans(memory::chunk_of(rows.birth[r], K)))
        EXPECT_EQ(span.source, 0);
  }
  next_tokens(session);
  session.remember_ids(random_ids(3000, 4), "more");
  EXPECT_EQ(session.memory().short_term(0).n, engine.layout().N);
  EXPECT_THROW(session.forget({9}), Error);
}

TEST(Session, StateFilesLeaveLongTermRowsAndTextsToTheirStore) {
  Engine engine(tiny_options());
  Session session(engine, 4);
  session.remember_ids(random_ids(3000, 1), "text");
  const auto folder = std::filesystem::temp_directory_path();
  const auto file = folder / fmt::format("mplus_state_{}.safetensors", ::getpid());
  save_state_file(session, file,
                  {.metadata = {{"sources", "1"}, {"mine", "yes"}}, .integers = {{"x", {1, 2}}}});
  const io::Safetensors opened = io::Safetensors::open(file);
  EXPECT_EQ(opened.metadata().at("mine"), "yes");
  EXPECT_EQ(read_integers(opened, "x"), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(opened.find("long_term.0.k"), nullptr);
  EXPECT_EQ(opened.find("source.texts"), nullptr);
  StateParts parts;
  parts.sources.push_back(std::make_shared<const Source>(session.record().source(0)));
  for (const memory::SegmentUse& use : session.memory().long_term().segments())
    parts.segments.push_back({use.segment, use.used});
  Session loaded = load_state_file(engine, opened, std::move(parts));
  expect_same_slots(session.memory(), loaded.memory());
  EXPECT_EQ(next_tokens(session), next_tokens(loaded));
  session.remember_ids(random_ids(3000, 2), "more");
  loaded.remember_ids(random_ids(3000, 2), "more");
  EXPECT_EQ(next_tokens(session), next_tokens(loaded));
  EXPECT_THROW(load_session_file(engine, file), Error) << "a state is no memory file";
  std::filesystem::remove(file);
}

TEST(Session, InjectedDropsAreUsed) {
  Engine engine(tiny_options());
  Session session(engine);
  const memory::Drops drops(4, {0, 1, 2, 3, 4});
  session.inject_drops({drops});
  session.remember_ids(random_ids(20, 1), "a");
  for (std::int64_t l = 0; l < 4; ++l) EXPECT_EQ(session.memory().short_term(l).birth[0], 5 - 30);
}

// A strategy of the caller's own takes part like the built-in ones.
TEST(Session, RecallStrategyIsAnArgument) {
  class Counting final : public memory::Recall {
   public:
    explicit Counting(int* calls) : calls_(calls) {}
    memory::LayerRecall rows(kernels::Queue&, const memory::Memory& memory, std::int64_t layer,
                             const memory::LayerQueries& queries) override {
      ++*calls_;
      EXPECT_EQ(queries.T, 9);
      memory::LayerRecall first;
      memory.long_term().for_each(layer, [&](memory::RowId id, std::int64_t birth) {
        if (first.rows.size() < 3) first.rows.push_back({id, birth, 1.0f});
      });
      return first;
    }

   private:
    int* calls_;
  };
  Engine engine(tiny_options());
  Session session(engine);
  session.remember_ids(random_ids(1500, 1), "text");
  int calls = 0;
  GenerateOptions options;
  options.max_tokens = 4;
  options.why = true;
  options.recall_strategy = [&] { return std::make_unique<Counting>(&calls); };
  const Answer answer = session.generate_ids(random_ids(9, 5), options);
  EXPECT_EQ(calls, 4);
  double weight = 0;
  std::int64_t rows = 0;
  for (const WhyChunk& chunk : answer.why) {
    weight += chunk.weight;
    rows += chunk.rows_recalled;
  }
  EXPECT_NEAR(weight, 1.0, 1e-9);
  EXPECT_EQ(rows, 3 * 4);
}

TEST(Session, WhyLeadsBackToSourcesAndSaysWhenThereIsNoText) {
  Engine engine(tiny_options());
  Session session(engine);
  session.remember_ids(random_ids(1500, 1), "first");
  session.remember_ids(random_ids(1500, 2), "second");
  GenerateOptions options;
  options.max_tokens = 1;
  options.why = true;
  const Answer answer = session.generate_ids(random_ids(9, 5), options);
  ASSERT_FALSE(answer.why.empty());
  for (const WhyChunk& chunk : answer.why) {
    EXPECT_EQ(chunk.spans.empty(), chunk.chunk < 0) << "what the checkpoint brought has no text";
    EXPECT_EQ(chunk.layer_weights.size(), 4u);
    for (const Span& span : chunk.spans) EXPECT_LT(span.source, 2);
  }
}

TEST(Session, CancelAndProgress) {
  Engine engine(tiny_options());
  Session session(engine);
  int calls = 0;
  const RememberResult result = session.remember_ids(random_ids(5000, 1), "text",
                                                     [&](std::int64_t, std::int64_t) { return ++calls < 4; });
  EXPECT_FALSE(result.complete);
  EXPECT_EQ(result.updates, 3);
  EXPECT_EQ(session.memory().updates(), 3);
  std::atomic<bool> cancel{true};
  GenerateOptions options;
  options.cancel = &cancel;
  EXPECT_EQ(session.generate_ids(random_ids(4, 1), options).reason, StopReason::cancelled);
}

TEST(Session, APromptIsStoppedInTheMiddle) {
  Engine engine(tiny_options());
  Session session(engine);
  session.remember_ids(random_ids(1500, 1), "text");
  const auto next = next_tokens(session);
  std::atomic<bool> cancel{false};
  std::vector<std::int64_t> layers;
  model::ReadTaps taps;
  taps.hidden = [&](std::int64_t layer, std::span<const float>) {
    layers.push_back(layer);
    cancel = layer == 1;
  };
  GenerateOptions options;
  options.cancel = &cancel;
  options.taps = &taps;
  const Answer answer = session.generate_ids(random_ids(40, 2), options);
  EXPECT_EQ(answer.reason, StopReason::cancelled);
  EXPECT_TRUE(answer.tokens.empty());
  EXPECT_EQ(layers, (std::vector<std::int64_t>{0, 1}));
  // A prompt longer than the window is written first, and not even that when it is stopped before.
  layers.clear();
  cancel = true;
  EXPECT_EQ(session.generate_ids(random_ids(9000, 2), options).reason, StopReason::cancelled);
  EXPECT_TRUE(layers.empty());
  EXPECT_EQ(next_tokens(session), next) << "nothing stays behind, in the session or in the engine";
}

TEST(Session, SenselessRequestsAreRejected) {
  Engine engine(tiny_options());
  Session session(engine);
  const auto code = [](const auto& f) {
    try {
      f();
    } catch (const Error& e) {
      return e.code();
    }
    ADD_FAILURE() << "no error";
    return ErrorCode{};
  };
  const std::vector<io::TokenId> bad{5, 300}, negative{-1};
  EXPECT_EQ(code([&] { session.remember_ids(bad, "x"); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code([&] { session.generate_ids(negative); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code([&] { session.generate_ids({}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code([&] { session.remember("text", "x"); }), ErrorCode::not_found) << "no tokenizer";
  EXPECT_EQ(code([&] { session.say("hello"); }), ErrorCode::unsupported);
  EXPECT_EQ(code([&] { session.score(random_ids(3000, 1)); }), ErrorCode::out_of_capacity);
  GenerateOptions options;
  options.max_tokens = -1;
  EXPECT_EQ(code([&] { session.generate_ids(random_ids(3, 1), options); }), ErrorCode::invalid_argument);
  EXPECT_EQ(session.memory().updates(), 0);
  EXPECT_TRUE(session.window().empty());
  EngineOptions plain = tiny_options();
  plain.files.model = MPLUS_TEST_DATA "/golden/llama3_rope/model_tied";
  Engine decoder(plain);
  Session without(decoder);
  EXPECT_EQ(code([&] { without.remember_ids(random_ids(30, 1, 280), "x"); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code([&] { without.generate_ids(random_ids(600, 1, 280)); }), ErrorCode::out_of_capacity);
}

}  // namespace
}  // namespace mplus::engine
