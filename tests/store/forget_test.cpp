// Forgetting takes a source and nothing else: what was written together with it is written again, in its
// place.
#include "mplus/core/error.h"
#include "mplus/store/copies/transfer.h"
#include "mplus/store/damage/verify.h"
#include "tests/store/text_fixture.h"

namespace mplus::store {
namespace {

namespace fs = std::filesystem;

class ForgetTest : public TextStoreTest {
 protected:
  // Short notes, of fewer than K tokens each, that one flush writes into one chunk.
  inline static const std::vector<std::string> kNotes{"lamp the in",   "stone",       "harbour in",
                                                      "then the lamp", "the harbour", "in stone"};
  static std::string note_name(std::size_t i) { return fmt::format("note {}", i); }

  template <class S>
  static void tell_notes(S& session, std::set<std::size_t> without = {}) {
    for (std::size_t i = 0; i < kNotes.size(); ++i)
      if (without.count(i) == 0) session.remember({.source = note_name(i), .text = kNotes[i]});
    session.flush();
  }

  void expect_replays(Store& store, engine::Engine& engine, const std::string& name) {
    VerifyReport report = verify_session(store, name);
    verify_by_replay(store, engine, name, report);
    for (const std::string& problem : report.problems) ADD_FAILURE() << problem;
    EXPECT_EQ(report.replay.find("equal, bit for bit"), 0u) << report.replay;
  }

  static std::vector<std::string> names_in(const engine::Record& record, std::int64_t update) {
    std::vector<std::string> names;
    for (const engine::Span& span : record.spans(update)) names.push_back(record.source(span.source).name);
    return names;
  }

  using Births = std::vector<std::vector<std::int64_t>>;
  static Births births_of(const memory::Memory& memory) {
    Births births;
    for (std::int64_t l = 0; l < memory.layout().layers; ++l) {
      const memory::RowsView slots = memory.short_term(l);
      births.emplace_back(slots.birth, slots.birth + slots.n);
      births.emplace_back();
      memory.long_term().for_each(l, [&](auto, std::int64_t birth) { births.back().push_back(birth); });
    }
    return births;
  }

  static std::int64_t count(Store& store, const char* table) {
    return store.database().integer(fmt::format("SELECT count(*) FROM {}", table));
  }
};

TEST_F(ForgetTest, NotesOfOneChunkStayAsAFreshSessionWritesThem) {
  Store store(folder_);
  StoredSession session(store, words_, "notes", Access::write, {.seed = 3});
  tell_notes(session);
  ASSERT_EQ(session.session().memory().updates(), 1);
  const ForgetReport plan = session.forget_plan(note_name(2), false);
  const ForgetReport report = session.forget(note_name(2), false);
  EXPECT_EQ(report.sources, std::vector<std::string>{note_name(2)});
  EXPECT_EQ(report.written_again,
            (std::vector<std::string>{note_name(0), note_name(1), note_name(3), note_name(4), note_name(5)}));
  EXPECT_EQ(report.removed.updates, 1);
  EXPECT_GT(report.removed.rows, 0);
  EXPECT_EQ(plan.written_again, report.written_again);
  EXPECT_EQ(plan.removed.rows, report.removed.rows);
  engine::Session plain(words_, 3);
  tell_notes(plain, {2});
  expect_same_session(session.session(), plain);
  for (std::size_t i : {0u, 1u, 3u, 4u, 5u})
    EXPECT_TRUE(session.document({.source = note_name(i), .text = kNotes[i]}).complete);
  EXPECT_FALSE(session.document({.source = note_name(2), .text = kNotes[2]}).source);
  expect_replays(store, words_, "notes");
}

TEST_F(ForgetTest, BirthsOrderAndDropsStayAsTheyAre) {
  Store store(folder_);
  StoredSession session(store, words_, "notes", Access::write, {.seed = 3, .state_every = 4});
  session.remember({.source = "old", .text = story(900, 1)});
  tell_notes(session);
  const std::int64_t chunk = session.session().memory().updates() - 1;
  session.remember({.source = "new", .text = story(900, 2)});
  const Births before = births_of(session.session().memory());
  const ForgetReport report = session.forget(note_name(0), false);
  EXPECT_EQ(births_of(session.session().memory()), before) << "20 tokens and more are left: all K births";
  EXPECT_EQ(report.removed.written_again.count(chunk), 1u);
  EXPECT_EQ(names_in(session.session().record(), chunk).front(), note_name(1));
  engine::Session plain(words_, 3);  // the same, but for the rows of that chunk and what came after it
  plain.remember(story(900, 1), "old");
  tell_notes(plain);
  plain.remember(story(900, 2), "new");
  EXPECT_NE(first_difference(session.session(), plain, true), "");
  EXPECT_EQ(first_difference(session.session(), plain, false), "");
  expect_replays(store, words_, "notes");
  session.remember({.source = "newer", .text = story(500, 3)});
  session.close();
  expect_replays(store, words_, "notes");
  StoredSession again(store, words_, "notes", Access::read);
  StoredSession replayed(store, words_, "notes", Access::read, {.without_states = true});
  EXPECT_GT(replayed.replayed_events(), again.replayed_events());
  expect_same_session(again.session(), replayed.session());
}

TEST_F(ForgetTest, TwoForgettingsOfOneChunkEqualOne) {
  Store store(folder_);
  for (const std::vector<std::size_t>& order : {std::vector<std::size_t>{1, 4}, {4, 1}}) {
    const std::string name = fmt::format("{} first", order[0]);
    StoredSession session(store, words_, name, Access::write, {.seed = 3});
    tell_notes(session);
    for (const std::size_t i : order) session.forget(note_name(i), false);
    EXPECT_EQ(session.session().memory().updates(), 1);
    EXPECT_TRUE(session.session().is_as_written_again(0));
    EXPECT_EQ(session.rewritten_updates(), std::vector<std::int64_t>{0});
    expect_replays(store, words_, name);
  }
  StoredSession one(store, words_, "1 first", Access::read), other(store, words_, "4 first", Access::read);
  expect_same_session(one.session(), other.session());
}

// What is left may be shorter than what is ever written alone: it is not lost for that.
TEST_F(ForgetTest, AShortRestIsWrittenAllTheSame) {
  Store store(folder_);
  StoredSession session(store, words_, "notes", Access::write, {.seed = 3});
  session.remember({.source = "waits", .text = kNotes[0]});
  session.remember({.source = "long", .text = story(700, 1)});
  const std::int64_t updates = session.session().memory().updates();
  ASSERT_EQ(names_in(session.session().record(), 0), (std::vector<std::string>{"waits", "long"}));
  const ForgetReport report = session.forget("long", false);
  EXPECT_EQ(report.removed.updates, updates);
  EXPECT_EQ(report.removed.written_again.size(), 1u);
  EXPECT_EQ(names_in(session.session().record(), 0), std::vector<std::string>{"waits"});
  EXPECT_TRUE(session.session().is_as_written_again(0));
  EXPECT_EQ(session.session().memory().tail_rows(), 0) << "the newest chunk was the long text's";
  expect_replays(store, words_, "notes");
}

TEST_F(ForgetTest, UndoPassesOverItAndBringsNothingBack) {
  Store store(folder_);
  StoredSession session(store, words_, "notes", Access::write, {.seed = 3, .state_every = 3});
  session.remember({.source = "old", .text = story(300, 1)});
  tell_notes(session);
  session.forget(note_name(2), false);
  engine::Session forgot = session.session().fork();
  session.remember({.source = "new", .text = story(300, 2)});
  session.undo(1);  // of what came after it
  expect_same_session(session.session(), forgot);
  expect_replays(store, words_, "notes");
  session.undo(2);  // the flush and the last note: from before it
  engine::Session plain(words_, 3);
  plain.remember(story(300, 1), "old");
  for (const std::size_t i : {0u, 1u, 3u, 4u}) plain.remember(kNotes[i], note_name(i));
  expect_same_session(session.session(), plain);
  EXPECT_EQ(error_of([&] { session.forget(note_name(2), false); }), ErrorCode::not_found);
  EXPECT_EQ(session.pinned_event(), -1) << "the journal leads to it again";
  session.close();
  expect_replays(store, words_, "notes");
  StoredSession reader(store, words_, "notes", Access::read);
  expect_same_session(reader.session(), plain);
}

// Births that a turn had attended to mean other rows where a chunk is missing.
TEST_F(ForgetTest, UndoneOverATurnRecallsAnew) {
  engine::GenerateOptions options;
  options.max_tokens = 6;
  options.recall.rule = RecallRule::consensus;
  Store store(folder_);
  {
    StoredSession session(store, words_, "notes", Access::write, {.seed = 3});
    session.remember({.source = "secret", .text = story(900, 1)});
    session.remember({.source = "other", .text = story(900, 2)});
    session.say("where in the harbour is the lamp", options);
    session.say("and then", options);
    session.forget("secret", false);
    session.undo(1);
    engine::Session plain(words_, 3);
    plain.remember(story(900, 2), "other");
    EXPECT_EQ(session.session().memory().updates(), plain.memory().updates());
    EXPECT_EQ(session.session().turns(), 1);
    for (const StoredEvent& event : session.journal().events()) {
      if (event.kind != EventKind::turn || !event.in_force()) continue;
      for (const auto& layer : event.recalled_births)
        for (const std::int64_t birth : layer)
          EXPECT_LT(memory::chunk_of(birth, words_.layout().K), plain.memory().updates());
    }
  }
  expect_replays(store, words_, "notes");
}

TEST_F(ForgetTest, AForkMadeBeforeKeepsEverything) {
  Store store(folder_);
  {
    StoredSession session(store, words_, "notes", Access::write, {.seed = 3});
    session.remember({.source = "old", .text = story(600, 1)});
    tell_notes(session);
  }
  store.fork("notes", "copy");
  engine::Session plain(words_, 3);
  plain.remember(story(600, 1), "old");
  tell_notes(plain);
  StoredSession session(store, words_, "notes", Access::write);
  EXPECT_EQ(session.forget_plan(note_name(1), false).holders, std::vector<std::string>{"copy"});
  EXPECT_EQ(session.forget(note_name(1), false).holders, std::vector<std::string>{"copy"});
  {
    StoredSession copy(store, words_, "copy", Access::write);
    expect_same_session(copy.session(), plain);
    copy.forget(note_name(1), false);
    expect_same_session(copy.session(), session.session());
  }
  EXPECT_EQ(store.database().integer("SELECT count(*) FROM sources"), 6);
  expect_replays(store, words_, "copy");
  store.fork("notes", "later");  // shares the forgetting, and can be undone over it
  StoredSession later(store, words_, "later", Access::write);
  later.undo(1);
  expect_replays(store, words_, "later");
  expect_replays(store, words_, "notes");
}

TEST_F(ForgetTest, WordsAndProvenanceFollow) {
  Store store(folder_);
  StoredSession session(store, words_, "notes", Access::write, {.seed = 3});
  session.remember({.source = "secret", .text = "xyz"});
  tell_notes(session);
  const std::int64_t id = session.info().id;
  ASSERT_EQ(TextIndex(store.database(), id).query("xyz").count(0), 1u);
  session.forget("secret", false);
  TextIndex words(store.database(), id);
  EXPECT_TRUE(words.query("xyz").empty());
  EXPECT_EQ(words.query("stone").count(0), 1u);
  EXPECT_TRUE(words.differences(session.session().record()).empty());
  engine::GenerateOptions options;
  options.why = true;
  options.max_tokens = 2;
  options.recall.rule = RecallRule::consensus;
  options.recall.over_everything = true;
  for (const engine::WhyChunk& chunk : session.session().generate("where is the stone", options).why)
    for (const engine::Span& span : chunk.spans)
      EXPECT_EQ(session.session().record().source(span.source).name.find("note"), 0u);
}

TEST_F(ForgetTest, TheDryRunTellsAndChangesNothing) {
  Store store(folder_);
  {
    StoredSession session(store, words_, "notes", Access::write, {.seed = 3});
    session.remember({.source = "old", .text = story(900, 1)});
    tell_notes(session);
    session.remember({.source = "waits", .text = "lamp"});
  }
  store.fork("notes", "copy");
  const std::int64_t events = count(store, "events"), states = count(store, "states");
  StoredSession reader(store, words_, "notes", Access::read);
  engine::Session before = reader.session().fork();
  const ForgetReport plan = reader.forget_plan(note_name(4), false);
  EXPECT_EQ(plan.written_again.size(), 5u);
  EXPECT_EQ(plan.holders, std::vector<std::string>{"copy"});
  EXPECT_EQ(reader.forget_plan("waits", false).removed.window_tokens, 1);
  EXPECT_GT(reader.forget_plan("old", false).removed.segments, 0);
  const ForgetReport exact = reader.forget_plan("old", true);
  expect_same_session(reader.session(), before);
  EXPECT_EQ(count(store, "events"), events);
  EXPECT_EQ(count(store, "states"), states);
  EXPECT_EQ(error_of([&] { reader.forget_plan("nobody", false); }), ErrorCode::not_found);
  StoredSession session(store, words_, "notes", Access::write);
  const ForgetReport done = session.forget(note_name(4), false);
  EXPECT_EQ(done.removed.rows, plan.removed.rows);
  EXPECT_EQ(done.removed.segments, plan.removed.segments);
  EXPECT_EQ(done.written_again, plan.written_again);
  StoredSession copy(store, words_, "copy", Access::write);
  EXPECT_EQ(copy.forget("old", true).replayed_events, exact.replayed_events);
}

// A conversation is written with its template's tokens and the answers' own ids: they are found again.
TEST_F(ForgetTest, ATurnIsForgottenAndTheOthersStay) {
  engine::GenerateOptions options;
  options.max_tokens = 12;
  Store store(folder_);
  StoredSession session(store, words_, "talk", Access::write, {.seed = 3});
  session.set_system_message("the harbour");
  session.say("where is the lamp", options);
  session.say("in the harbour is a stone", options);
  session.remember({.source = "short", .text = "lamp"});
  session.say("and then", options);
  session.flush();
  ASSERT_EQ(session.session().memory().updates(), 1);
  std::int64_t second = 0;
  for (const StoredEvent& event : session.journal().events())
    if (event.kind == EventKind::turn && event.number == 3) second = *event.source;
  const std::size_t spans = session.session().record().spans(0).size();
  const ForgetReport report = session.forget(fmt::format("#{}", second), false);
  EXPECT_EQ(report.removed.updates, 1);
  EXPECT_EQ(session.session().record().spans(0).size(), spans - 2) << "message and answer";
  expect_replays(store, words_, "talk");
  session.say("then", options);
  session.flush();
  session.close();
  expect_replays(store, words_, "talk");
}

TEST_F(ForgetTest, TokensAreFoundAgainFromTheTexts) {
  engine::GenerateOptions options;
  options.max_tokens = 12;
  engine::Session session(words_, 3);
  std::map<std::int64_t, std::vector<io::TokenId>> given;
  const engine::IdsOfSource ids = [&](std::int64_t source) { return given[source]; };
  const auto last = [&] { return session.record().sources() - 1; };
  session.set_system_message(" the harbour ");
  for (const char* message : {"where is the lamp", "in Zürich"}) {
    const std::vector<io::TokenId> answer = session.say(message, options).tokens;
    given[last()] = answer;
    session.remember_ids(random_ids(4, 1), "numbers");
    given[last()] = random_ids(4, 1);
    session.remember("a lamp", "text");
  }
  session.flush();
  // A first update has nothing but its text in its rows, as what is written again has.
  ASSERT_EQ(session.memory().updates(), 1);
  EXPECT_TRUE(session.is_as_written_again(0, ids));
  std::string message;
  EXPECT_EQ(error_of([&] { session.forget({0}); }, &message), ErrorCode::invalid_argument);
  EXPECT_NE(message.find("'numbers'"), std::string::npos) << message;
  EXPECT_TRUE(session.is_as_written_again(0, ids)) << "refused, it changes nothing";
  given[2].clear();  // as in a memory file: an answer's ids are not known, its text is
  session.forget({0}, ids);
  EXPECT_TRUE(session.is_as_written_again(0, ids));
  EXPECT_EQ(session.record().spans(0).front().source, 1);
}

TEST_F(ForgetTest, ExactForgettingAndRebuildingLeaveNoTraceOfIt) {
  Store store(folder_);
  engine::Session plain(words_, 3);
  plain.remember(story(300, 1), "old");
  tell_notes(plain, {2, 5});
  plain.remember(story(300, 2), "new");
  for (const bool rebuilt : {false, true}) {
    const std::string name = rebuilt ? "rebuilt" : "exact";
    {
      StoredSession session(store, words_, name, Access::write, {.seed = 3});
      session.remember({.source = "old", .text = story(300, 1)});
      tell_notes(session);
      session.remember({.source = "new", .text = story(300, 2)});
      session.forget(note_name(2), false);
      session.forget(note_name(5), !rebuilt);
    }
    if (rebuilt) rebuild_session(store, words_, name);
    StoredSession session(store, words_, name, Access::read);
    expect_same_session(session.session(), plain);
    EXPECT_EQ(session.pinned_event(), -1);
    expect_replays(store, words_, name);
  }
}

TEST_F(ForgetTest, ExactForgettingOfWhatCameLaterKeepsIt) {
  Store store(folder_);
  StoredSession session(store, words_, "notes", Access::write, {.seed = 3});
  tell_notes(session);
  session.forget(note_name(2), false);
  engine::Session forgot = session.session().fork();
  session.remember({.source = "new", .text = story(300, 2)});
  session.forget("new", true);
  expect_same_session(session.session(), forgot);
  EXPECT_EQ(session.rewritten_updates(), std::vector<std::int64_t>{0});
  expect_replays(store, words_, "notes");
}

TEST_F(ForgetTest, CarriedElsewhereItGoesOnAlike) {
  Store store(folder_), other(folder_ / "other");
  StoredSession session(store, words_, "notes", Access::write, {.seed = 3});
  session.remember({.source = "old", .text = story(300, 1)});
  tell_notes(session);
  session.forget(note_name(2), false);
  session.remember({.source = "new", .text = story(300, 2)});
  const fs::path file = folder_ / "carried.safetensors";
  export_session(session, file, true);
  import_session(other, words_, file, "notes");
  StoredSession copy(other, words_, "notes", Access::write);
  expect_same_session(copy.session(), session.session());
  copy.remember({.source = "newer", .text = story(200, 3)});
  copy.close();
  expect_replays(other, words_, "notes");
  copy.undo(2);  // over what the import brought: the journal has the texts
  session.undo(1);
  engine::Session plain(words_, 3);
  plain.remember(story(300, 1), "old");
  tell_notes(plain, {2});
  expect_same_session(copy.session(), plain);
}

// Without the state that it left, the memory is made again from the texts that are there.
TEST_F(ForgetTest, ADamagedStateCostsNothingThatWasTold) {
  Store store(folder_);
  {
    StoredSession session(store, words_, "notes", Access::write, {.seed = 3});
    session.remember({.source = "old", .text = story(300, 1)});
    tell_notes(session);
    session.forget(note_name(2), false);
  }
  for (const auto& entry : fs::directory_iterator(folder_ / "states")) fs::resize_file(entry.path(), 100);
  engine::Session plain(words_, 3);
  plain.remember(story(300, 1), "old");
  tell_notes(plain, {2});
  std::vector<std::string> warnings;
  StoredSession session(store, words_, "notes", Access::read,
                        {.warn = [&](const std::string& message) { warnings.push_back(message); }});
  EXPECT_EQ(warnings.size(), 1u);
  expect_same_session(session.session(), plain);
}

TEST_F(ForgetTest, WhatIsNotWhatItsTextGivesIsFound) {
  Store store(folder_);
  {
    StoredSession session(store, words_, "notes", Access::write, {.seed = 3});
    session.remember({.source = "old", .text = story(900, 1)});
    tell_notes(session);
    session.forget(note_name(2), false);
  }
  Journal journal(store.database(), store.get("notes").id);
  StoredEvent event = *journal.last();
  ASSERT_NE(event.details.find("rewritten"), std::string::npos);
  const auto verified = [&] {
    VerifyReport report;
    verify_by_replay(store, words_, "notes", report);
    return report;
  };
  EXPECT_TRUE(verified().sound());
  event.details = R"({"exact":false,"rewritten":[1]})";  // which was written behind other text
  journal.renew(event);
  EXPECT_EQ(verified().replay, "differs");
  event.details = R"({"exact":false})";  // as versions without it wrote
  journal.renew(event);
  EXPECT_TRUE(verified().sound());
  EXPECT_EQ(verified().replay.find("not possible"), 0u);
}

}  // namespace
}  // namespace mplus::store
