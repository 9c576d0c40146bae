// Journals in files nobody vouches for: what is refused leaves nothing, what is imported can be replayed.
#include "mplus/store/copies/import_journal.h"

#include "mplus/core/error.h"
#include "mplus/engine/files/session_file.h"
#include "mplus/io/text/json.h"
#include "mplus/store/copies/transfer.h"
#include "mplus/store/damage/verify.h"
#include "tests/store/text_fixture.h"

namespace mplus::store {
namespace {

using io::Json;

class ImportJournalTest : public TextStoreTest {
 protected:
  ImportJournalTest() : store_(folder_ / "store") {
    StoredSession session(store_, bytes_, "talk", Access::write, {.seed = 3});
    session.set_system_message("Be kind.");
    session.remember({.source = "notes.txt", .text = notes_});
    engine::GenerateOptions options;
    options.max_tokens = 4;
    session.say("Who lives in Oslo?", options);
    session.say("And then?", options);
    session.flush();
    session.close();
    export_session(session, file_, true);
  }

  // The same file with another journal.
  void write(const std::filesystem::path& to, const std::string& journal) {
    const io::Safetensors file = io::Safetensors::open(file_);
    save_session_file(
        engine::load_session_file(bytes_, file_), to,
        {.integers = {{"source_ids", engine::read_integers(file, "source_ids")}},
         .bytes = {{"journal", journal}, {"journal.texts", engine::read_bytes(file, "journal.texts")}}});
  }
  Json journal() { return Json::parse(engine::read_bytes(io::Safetensors::open(file_), "journal")); }

  // What an import of it says; "" if it is imported.
  std::string refusal(const std::string& changed) {
    write(changed_, changed);
    try {
      import_session(store_, bytes_, changed_, "copy");
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ErrorCode::corrupt || error.code() == ErrorCode::unsupported)
          << error.what();
      return error.what();
    }
    return "";
  }
  void expect_refused(const std::string& what, const std::function<void(Json&)>& change) {
    Json changed = journal();
    change(changed);
    const std::string said = refusal(changed.dump());
    EXPECT_NE(said.find(what), std::string::npos) << what << ": " << said;
    if (said.empty()) store_.remove("copy");
  }

  static constexpr std::size_t kSystem = 0, kText = 1, kTurn = 2;  // events
  std::string notes_ = story(400, 1);
  std::filesystem::path file_ = folder_ / "talk.safetensors", changed_ = folder_ / "changed.safetensors";
  Store store_;
};

TEST_F(ImportJournalTest, AConversationIsReplayedBitForBit) {
  import_session(store_, bytes_, file_, "copy");
  EXPECT_TRUE(verify_session(store_, "copy").sound());
  StoredSession original(store_, bytes_, "talk", Access::read), copy(store_, bytes_, "copy", Access::read);
  expect_same_session(copy.session(), original.session());
  StoredSession replayed(store_, bytes_, "copy", Access::read, {.without_states = true});
  expect_same_session(replayed.session(), original.session());
}

TEST_F(ImportJournalTest, DeepNestingIsRefused) {
  for (const char* key : {"version", "sources", "events"}) {
    const std::string deep = std::string(400'000, '[') + std::string(400'000, ']');
    write(changed_, fmt::format("{{\"{}\":{}}}", key, deep));
    EXPECT_THROW(import_session(store_, bytes_, changed_, "copy"), Error) << key;
  }
  expect_refused("details", [](Json& j) {
    j["events"][kTurn]["details"] =
        "{\"reread\":" + std::string(400'000, '[') + std::string(400'000, ']') + "}";
  });
}

TEST_F(ImportJournalTest, EventsThatCannotBeReplayedAreRefused) {
  ASSERT_EQ(journal()["events"][kTurn]["kind"], 2);
  const auto turn = [](const char* key, Json value) {
    return [key, value](Json& j) { j["events"][kTurn][key] = value; };
  };
  const auto text = [](const char* key, Json value) {
    return [key, value](Json& j) { j["events"][kText][key] = value; };
  };
  for (const char* details :
       {"[]", "no JSON", R"({"reread":"all"})", R"({"reread":[-1]})", R"({"reread":[100000]})",
        R"({"answer_read":"4"})", R"({"answer_read":5})", R"({"recall":"nosuch"})"})
    expect_refused("details", turn("details", details));
  const std::vector<Json> lists{Json::array(),
                                {{1}, {1}},
                                {{1}, {1}, {1}, {1}, {1}},
                                "all",
                                {1, 2, 3, 4},
                                {{1 << 30}, {}, {}, {}},
                                {{INT64_MIN}, {INT64_MAX}, {}, {}},
                                {std::vector<int>(100'000, 0), Json::array(), Json::array(), Json::array()}};
  for (const Json& births : lists) expect_refused("recalled", turn("recalled", births));
  expect_refused("answer_ids", turn("answer_ids", {1, 300}));
  expect_refused("answer_ids", turn("answer_ids", {-1}));
  expect_refused("answer_ids", turn("answer_ids", "none"));
  expect_refused("answer", turn("answer", 0));
  expect_refused("source", turn("source", 99));
  expect_refused("source 2 is of kind \"document\"", turn("source", 2));
  expect_refused("kind", turn("kind", 0));
  expect_refused("kind", turn("kind", 8));
  expect_refused("tokens", text("tokens", {0, 1'000'000}));
  expect_refused("tokens", text("tokens", {9, 3}));
  expect_refused("tokens", text("tokens", {0}));
  expect_refused("bytes", text("bytes", {0, 1'000'000}));
  expect_refused("is of kind \"user\"", text("source", 3));
  expect_refused("system message", [](Json& j) { j["events"].push_back(j["events"][kSystem]); });
}

TEST_F(ImportJournalTest, TextsAreThoseOfTheMemory) {
  expect_refused("source 1", [](Json& j) { j["sources"][0]["end"] = 1'000'000; });
  expect_refused("source 1", [](Json& j) { j["sources"][0] = 5; });
  expect_refused("another text", [](Json& j) {
    for (const char* key : {"begin", "end"}) j["sources"][0][key] = j["sources"][0][key].get<int>() + 1;
  });
  expect_refused("source_ids", [](Json& j) { j["sources"] = j["events"] = Json::array(); });
}

TEST_F(ImportJournalTest, WhatIsRefusedLeavesNothing) {
  const std::int64_t sources = store_.database().integer("SELECT count(*) FROM sources");
  expect_refused("details", [](Json& j) { j["events"][kTurn]["details"] = "[]"; });
  EXPECT_EQ(store_.database().integer("SELECT count(*) FROM sources"), sources);
  EXPECT_EQ(store_.database().integer("SELECT count(*) FROM sessions"), 1);
}

// Its journal does not lead to what it brought, however often it is carried on.
TEST_F(ImportJournalTest, WhatCameWithoutAJournalStaysWhenCarriedOn) {
  {
    StoredSession session(store_, bytes_, "talk", Access::read);
    export_session(session, changed_, false);
  }
  import_session(store_, bytes_, changed_, "bare");
  {
    StoredSession bare(store_, bytes_, "bare", Access::read);
    export_session(bare, changed_, true);
  }
  import_session(store_, bytes_, changed_, "again");
  StoredSession original(store_, bytes_, "bare", Access::read);
  {
    StoredSession again(store_, bytes_, "again", Access::write);
    EXPECT_THROW(again.undo(1), Error);
    again.remember({.source = "more.txt", .text = notes_});
    again.undo(1);
  }
  StoredSession again(store_, bytes_, "again", Access::read);
  expect_same_session(again.session(), original.session());
}

}  // namespace
}  // namespace mplus::store
