#include "mplus/store/words/text_index.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "mplus/store/words/word_split.h"

namespace mplus::store {
namespace {

namespace fs = std::filesystem;
using Chunks = std::vector<std::int64_t>;

std::int64_t best(const TextIndex& index, std::string_view question) {
  std::int64_t chunk = -1;
  double most = 0;
  for (const auto& [c, score] : index.query(question))
    if (score > most || (score == most && c < chunk)) {
      chunk = c;
      most = score;
    }
  return chunk;
}

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class DatabaseFile : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_ =
      fs::path(testing::TempDir()) /
      fmt::format("text_index_{}", testing::UnitTest::GetInstance()->current_test_info()->name());
  fs::path file_ = folder_ / "a.db";
};

TEST(TextIndex, FindsTheChunkThatSharesWords) {
  TextIndex index;
  index.add(0, "The lamp stands in the attic.");
  index.add(3, "My brother plays the cello in an orchestra.");
  index.add(7, "Bread and cheese in the kitchen.");
  EXPECT_EQ(best(index, "Who plays the CELLO?"), 3);
  EXPECT_EQ(best(index, "lamp"), 0);
  EXPECT_TRUE(index.query("zebra").empty());
  EXPECT_EQ(index.chunks(), (Chunks{0, 3, 7}));
}

// bm25 by its formula: k1 1.2, b 0.75, idf = ln((N − n + ½) / (n + ½)).
TEST(TextIndex, ScoresAreBm25) {
  TextIndex index;
  for (int i = 0; i < 8; ++i) index.add(i, fmt::format("filler text number {} here", i));
  index.add(8, "lamp lamp and one more word in this longer chunk of text");  // 12 words; the others have 5
  const double n = 9, length = 12, average = (8.0 * 5 + 12) / 9;
  const double idf = std::log((n - 1 + 0.5) / (1 + 0.5));
  const double expected = idf * (2 * 2.2) / (2 + 1.2 * (1 - 0.75 + 0.75 * length / average));
  EXPECT_NEAR(index.query("lamp, a lamp").at(8), expected, 1e-9);  // a word of the question counts once
}

// A pair of neighbours that are seldom each counts like half a word.
TEST(TextIndex, PairsOfSeldomWordsCountToo) {
  TextIndex index;
  for (int i = 0; i < 58; ++i) index.add(i, fmt::format("filler text number {} here", i));
  index.add(58, "Amy Lowell lamp; Tom Turner key");
  index.add(59, "Amy Turner chair; filler text again");  // 6 words, as the one before
  const double n = 60, average = (58 * 5 + 2 * 6) / n;
  const auto bm25 = [&](double holding) {
    return std::log((n - holding + 0.5) / (holding + 0.5)) * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 6 / average));
  };
  const auto amy = index.query("What has Amy Turner?");
  EXPECT_NEAR(amy.at(58), 2 * bm25(2), 1e-9);
  EXPECT_NEAR(amy.at(59), 2 * bm25(2) + bm25(1) / 2, 1e-9);
  EXPECT_EQ(best(index, "Where is Tom Turner?"), 58);
}

TEST(TextIndex, PairsOfOtherWordsDoNot) {
  TextIndex index;
  for (int i = 0; i < 60; ++i) index.add(i, i < 7 ? "red house wall" : i < 14 ? "blue oak door" : "a b c");
  index.add(60, "red door c");
  index.add(61, "door red c");  // red and door each in nine of 62, "red door" in one
  const auto scores = index.query("red door");
  EXPECT_DOUBLE_EQ(scores.at(60), scores.at(61));
}

TEST(TextIndex, AnyQuestionIsSafe) {
  TextIndex index;
  index.add(0, "alpha \"beta\" gamma' AND OR NOT NEAR");
  index.add(1, "東京都に住んでいます。ランプは屋根裏部屋にあります。");
  index.add(2, "Ключ лежит под ковриком у двери");
  index.add(3, "La clé est cachée sous l'évier");
  for (const std::string question : {"",
                                     " ",
                                     "\"",
                                     "\"\"\"",
                                     "'",
                                     "alpha\" OR \"x",
                                     "AND",
                                     "NOT",
                                     "NEAR(",
                                     "alpha AND",
                                     "text:alpha",
                                     "*",
                                     "a*",
                                     "^alpha",
                                     "(((",
                                     ")",
                                     "-alpha",
                                     "+",
                                     "{alpha beta}",
                                     "the of and",
                                     ";",
                                     "--",
                                     "\\",
                                     "%",
                                     "?1"})
    EXPECT_NO_THROW(index.query(question)) << question;
  EXPECT_EQ(best(index, "AND"), 0);
  EXPECT_EQ(best(index, std::string("al\0pha beta", 11)), 0);
  EXPECT_EQ(best(index, "\xff\xfe gamma \xc3"), 0);
  EXPECT_EQ(best(index, "ランプはどこ？"), 1);
  EXPECT_EQ(best(index, "東京"), 1);
  EXPECT_EQ(best(index, "где КЛЮЧ?"), 2);
  EXPECT_EQ(best(index, "cle cachee"), 3);  // without its accents
  std::string lengthy, characters;
  for (int i = 0; lengthy.size() < 10'000; ++i) lengthy += fmt::format("word{} ", i * 7919 % 10'007);
  for (int i = 0; characters.size() < 30'000; ++i) {  // 10,000 characters that make as many pairs
    const int c = 0x4E00 + i * 7919 % 20'000;
    characters += {static_cast<char>(0xE0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 63)),
                   static_cast<char>(0x80 | (c & 63))};
  }
  EXPECT_NO_THROW(index.query(lengthy));
  EXPECT_NO_THROW(index.query(characters));
  EXPECT_EQ(best(index, "gamma " + lengthy), 0);
}

TEST(TextIndex, AnyTextCanBeIndexed) {
  TextIndex index;
  index.add(0, std::string("one\0two", 7));
  index.add(1, "\xff\xfe\xfd three \xe2\x82");
  index.add(2, "");
  index.add(3, "…—!?");
  EXPECT_EQ(best(index, "two"), 0);
  EXPECT_EQ(best(index, "three"), 1);
  EXPECT_EQ(index.chunks(), (Chunks{0, 1}));  // the others have no words
}

TEST(TextIndex, TextOfAChunkIsReplaced) {
  TextIndex index;
  index.add(0, "lamp");
  index.add(0, "candle");
  EXPECT_TRUE(index.query("lamp").empty());
  EXPECT_EQ(best(index, "candle"), 0);
}

TEST(WordSplit, PairsOfCharactersWhereThereAreNoSpaces) {
  EXPECT_EQ(indexed_form("Ab-c 東京都 x"), "ab c 東 東京 京 京都 都 x");
  EXPECT_EQ(question_words("東京都 Ab ab 水", 9), (std::vector<std::string>{"東京", "京都", "ab", "水"}));
  EXPECT_EQ(question_words("a b c d", 2).size(), 2u);
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(question_pairs("A key, a KEY. 東京 key x", 9),
            (Pairs{{"a", "key"}, {"key", "a"}, {"key", "x"}}));  // each once; 東京 stands between
  EXPECT_EQ(question_pairs("a b c d", 2), (Pairs{{"a", "b"}, {"b", "c"}}));
  EXPECT_TRUE(question_pairs("one", 9).empty());
}

TEST_F(DatabaseFile, SessionsDoNotMixAndTheIndexLasts) {
  {
    Database database(file_);
    database.execute("CREATE TABLE sources (id INTEGER)");
    TextIndex(database, 1).add(0, "the lamp");
    TextIndex other(database, 2);
    EXPECT_TRUE(other.query("lamp").empty());
    other.add(0, "the candle");
    Transaction whole(database);  // inside the caller's own transaction
    other.add(1, "the match");
    whole.commit();
  }
  Database database(file_);
  EXPECT_EQ(best(TextIndex(database, 1), "lamp"), 0);
  EXPECT_EQ(best(TextIndex(database, 2), "match"), 1);
  TextIndex::drop(database, 1);
  EXPECT_EQ(best(TextIndex(database, 2), "candle"), 0);
  EXPECT_TRUE(TextIndex(database, 1).chunks().empty());
  EXPECT_EQ(database.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'sources'"), 1);
}

TEST_F(DatabaseFile, NothingOfARemovedChunkIsLeftInTheFile) {
  for (const bool log : {false, true}) {
    fs::remove(file_);
    {
      Database database(file_);
      if (log) database.execute("PRAGMA journal_mode = WAL");
      TextIndex index(database, 1);
      for (int i = 0; i < 60; ++i) index.add(i, fmt::format("common words and number {}", i));
      index.add(60, "the password is xylophonequartz");
      ASSERT_EQ(best(index, "xylophonequartz"), 60);
      index.remove({60});
      EXPECT_TRUE(index.query("xylophonequartz").empty());
      EXPECT_EQ(best(index, "number 17"), 17);
      index.add(60, "the second is vermilionzither");
      index.add(60, "replaced");
      if (log) database.execute("PRAGMA wal_checkpoint(TRUNCATE)");
    }
    for (const fs::path& part : fs::directory_iterator(folder_)) {
      const std::string bytes = bytes_of(part);
      EXPECT_EQ(bytes.find("xyloph"), std::string::npos) << part << " log " << log;
      EXPECT_EQ(bytes.find("vermil"), std::string::npos) << part << " log " << log;
    }
  }
}

engine::Record record_of(const std::vector<std::string>& chunks) {
  engine::Record record;
  for (const std::string& text : chunks) {
    const std::int64_t source =
        record.add_source(engine::Source{"notes.txt", engine::Speaker::document, text});
    record.add_update({{source, 0, static_cast<std::int64_t>(text.size()), 0, 1}});
  }
  return record;
}

TEST(TextIndex, FollowsARecordThroughUndoAndFork) {
  TextIndex index;
  const engine::Record first = record_of({"the lamp", "the candle", "the match"});
  EXPECT_EQ(index.differences(first), (Chunks{0, 1, 2}));
  EXPECT_EQ(index.follow(first), 3);
  EXPECT_EQ(index.follow(first), 0);
  EXPECT_EQ(best(index, "candle"), 1);
  const engine::Record undone = record_of({"the lamp", "another"});  // two undone, one other written
  EXPECT_EQ(index.differences(undone), (Chunks{1, 2}));
  EXPECT_EQ(index.follow(undone), 2);
  EXPECT_TRUE(index.query("candle match").empty());
  EXPECT_EQ(best(index, "another"), 1);
  EXPECT_EQ(best(index, "lamp"), 0);
}

TEST(TextIndex, ServesThePriorWhenItIsFirstAsked) {
  TextIndex index;
  engine::Record record = record_of({"the lamp", "the candle"});
  engine::GenerateOptions options;
  index.serve(options, record);
  const memory::Prior prior = options.words("Where is the candle?");
  EXPECT_TRUE(index.chunks().empty());  // nothing was done yet
  EXPECT_GT(prior(1), prior(0));
  EXPECT_EQ(prior(99), 0.0);
  EXPECT_EQ(prior(-3), 0.0);
}

}  // namespace
}  // namespace mplus::store
