// Stopped at any step, a session is as it was when something was last acknowledged.
#include <gtest/gtest.h>

#include <stop_token>

#include "mplus/core/error.h"
#include "mplus/engine/generation.h"
#include "mplus/engine/ingestion.h"
#include "mplus/engine/replay.h"
#include "tests/engine/text_engine.h"

namespace mplus::engine {
namespace {

template <class Task>
bool one_step(Runner& runner, Task& task) {
  Work* work = task.next_work();
  if (!work) return false;
  WorkItem item{work};
  runner.step({&item, 1});
  task.take(std::move(item.result));
  return true;
}

enum class Ending { stopped, dropped };

// The session after so many steps, and the state of the last event; false: it had ended by then.
bool stop_remembering(Session& session, const Document& document, int steps, Ending ending) {
  std::string acknowledged = state_of(session);
  bool unfinished = true;
  {
    Ingestion ingestion(session, document, {}, {}, [&](const Event&) { acknowledged = state_of(session); });
    for (int i = 0; i < steps && unfinished; ++i) unfinished = one_step(session.engine().runner(), ingestion);
    if (ending == Ending::stopped) {
      ingestion.stop();
      EXPECT_EQ(ingestion.next_work(), nullptr);
    }
  }
  EXPECT_TRUE(state_of(session) == acknowledged) << "after " << steps << " steps";
  return unfinished;
}

TEST(Stopping, RememberingStopsAtEveryStep) {
  EngineOptions options = tiny_options();  // C = 512, K = 5
  options.write_layers = 2;
  Engine engine(options);
  const auto text = random_ids(1700, 1), note = random_ids(4, 2), little = random_ids(6, 3);
  Session whole(engine, 5);
  whole.remember_ids(note, "waits");
  whole.remember_ids(text, "text");
  const std::string undisturbed = state_of(whole);
  for (const Ending ending : {Ending::stopped, Ending::dropped})
    for (int steps = 0, more = 1; more; ++steps) {
      Session session(engine, 5);
      session.remember_ids(note, "waits");
      more = stop_remembering(session, {.source = "text", .ids = text}, steps, ending);
      // It goes on from there, to what comes of it undisturbed.
      const auto& spans = session.record().updates() > 0
                              ? session.record().spans(session.record().updates() - 1)
                              : std::vector<Span>();
      const std::int64_t at = spans.empty() ? 0 : spans.back().token_end;
      if (at < 1700) session.remember(Document{.source = "text", .ids = text, .first_token = at});
      EXPECT_TRUE(state_of(session) == undisturbed) << "after " << steps << " steps";
    }
  // The first chunk may be all of what waited: nothing of the document is told by then.
  Session waits(engine, 5);
  for (unsigned i = 0; i < 127; ++i) waits.remember_ids(random_ids(4, i), "note");
  ASSERT_EQ(waits.window().size(), 508u);
  for (const Ending ending : {Ending::stopped, Ending::dropped})
    for (int steps = 0, more = 1; more; ++steps) {
      Session session = waits.fork();
      more = stop_remembering(session, {.source = "little", .ids = little}, steps, ending);
    }
}

TEST(Stopping, FlushingIsAllOrNothing) {
  EngineOptions options = tiny_options();
  options.write_layers = 1;
  Engine engine(options);
  Session waits(engine, 5);
  for (unsigned i = 0; i < 100; ++i) waits.remember_ids(random_ids(4, i), "note");
  for (int steps = 0, more = 1; more; ++steps) {
    Session session = waits.fork();
    const std::string before = state_of(session);
    {
      Ingestion flush = Ingestion::flush(session);
      for (int i = 0; i < steps && more; ++i) more = one_step(engine.runner(), flush);
    }
    EXPECT_EQ(state_of(session) == before, session.memory().updates() == 0);
    EXPECT_EQ(session.window().empty(), !more || session.memory().updates() > 0);
  }
}

// What a turn told, kept.
struct Told {
  std::string message, answer, recall;
  std::vector<io::TokenId> ids;
  std::int64_t read = 0;
  std::vector<std::vector<std::int64_t>> births;
  std::vector<std::int64_t> reread;

  explicit Told(const TurnTaken& turn)
      : message(turn.message),
        answer(turn.answer),
        recall(turn.recall),
        ids(turn.answer_ids.begin(), turn.answer_ids.end()),
        read(turn.answer_read),
        births(turn.recalled_births.begin(), turn.recalled_births.end()),
        reread(turn.reread.begin(), turn.reread.end()) {}
  TurnTaken view() const { return {message, answer, ids, read, recall, births, reread}; }
};

TEST(Stopping, ATurnStopsAtEveryStep) {
  const TemporaryFolder folder;
  EngineOptions options = text_options(folder);
  options.write_layers = 2;
  Engine engine(options);
  Session base(engine, 6);
  base.remember_ids(random_ids(1200, 1, 250), "text");
  GenerateOptions how;
  how.max_tokens = 8;
  base.say("What is it?", how);
  const std::string before = state_of(base);
  const std::string message(2600, 'x');  // longer than the window: some of it is written first
  std::size_t answers = 0;
  for (const Ending ending : {Ending::stopped, Ending::dropped}) {
    std::size_t last = 0;
    for (int steps = 0, more = 1; more; ++steps) {
      Session session = base.fork();
      std::vector<Told> told;
      {
        Generation turn = Generation::say(session, message, how, [&](const Event& event) {
          told.emplace_back(std::get<TurnTaken>(event));
        });
        for (int i = 0; i < steps && more; ++i) more = one_step(engine.runner(), turn);
        if (ending == Ending::stopped) {
          turn.stop();
          run_alone(engine.runner(), turn);
          const Answer answer = turn.answer();
          EXPECT_EQ(answer.tokens.empty(), told.empty());
          EXPECT_GE(answer.tokens.size(), last) << "more steps, no less of an answer";
          last = answer.tokens.size();
        }
      }
      if (told.empty()) {
        EXPECT_TRUE(state_of(session) == before) << "after " << steps << " steps";
        continue;
      }
      ++answers;
      Session again = base.fork();
      replay(again, told.at(0).view(), true);
      EXPECT_TRUE(state_of(session) == state_of(again)) << "after " << steps << " steps";
    }
  }
  EXPECT_GT(answers, 5u);
}

TEST(Stopping, ADeadlineInThePastDoesNothing) {
  const TemporaryFolder folder;
  Engine engine(text_options(folder));
  Session session(engine, 6);
  session.remember_ids(random_ids(1200, 1, 250), "text");
  session.remember_ids(random_ids(4, 2, 250), "waits");
  const std::string before = state_of(session);
  int events = 0, words = 0;
  const EventSink told = [&](const Event&) { ++events; };
  GenerateOptions how;
  how.cancel = Until(Until::Clock::now());
  how.words = [&](std::string_view) { return ++words, memory::Prior(); };
  EXPECT_EQ(session.ask("Where?", how).reason, StopReason::cancelled);
  EXPECT_EQ(session.generate("Once", how).reason, StopReason::cancelled);
  EXPECT_EQ(session.say("Hello", how, told).reason, StopReason::cancelled);
  const auto text = random_ids(2000, 3, 250), note = random_ids(3, 3, 250);
  for (const auto& ids : {text, note}) {
    const RememberResult result = session.remember({.source = "late", .ids = ids}, {}, how.cancel, told);
    EXPECT_FALSE(result.complete);
    EXPECT_EQ(result.updates, 0);
  }
  Ingestion flush = Ingestion::flush(session, how.cancel, told);
  EXPECT_EQ(flush.next_work(), nullptr);
  EXPECT_EQ(events, 0);
  EXPECT_EQ(words, 0);
  EXPECT_TRUE(state_of(session) == before);
}

TEST(Stopping, AStopTokenEndsAnAnswer) {
  Engine engine(tiny_options());
  Session session(engine, 6);
  std::stop_source source;
  GenerateOptions how;
  how.max_tokens = 100;
  how.cancel = source.get_token();
  const auto prompt = random_ids(30, 1);
  Generation generation = Generation::generate_ids(session, prompt, how);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(one_step(engine.runner(), generation));
  source.request_stop();
  EXPECT_EQ(generation.next_work(), nullptr);
  const Answer answer = generation.answer();
  EXPECT_EQ(answer.reason, StopReason::cancelled);
  EXPECT_EQ(answer.tokens.size(), 4u) << "recall, the prompt, and three tokens read; the fourth was picked";
}

TEST(Stopping, OneChangeAtATime) {
  const TemporaryFolder folder;
  Engine engine(text_options(folder));
  Session session(engine, 6);
  const auto text = random_ids(1200, 1, 250);
  std::optional<Ingestion> ingestion;
  ingestion.emplace(session, Document{.source = "text", .ids = text});
  ASSERT_NE(ingestion->next_work(), nullptr);
  EXPECT_THROW(session.say("Hello"), Error);
  EXPECT_THROW(session.remember_ids(text, "other"), Error);
  GenerateOptions how;
  how.max_tokens = 3;
  EXPECT_EQ(session.generate("Reading is free", how).tokens.size(), 3u);
  ingestion.reset();
  EXPECT_TRUE(session.remember_ids(text, "other").complete);
}

}  // namespace
}  // namespace mplus::engine
