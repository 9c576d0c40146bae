// Tables of made-up facts: how they are read, and what is said where one is not written as it should be.
#include "mplus/train/lessons/made/tables.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/train/lessons/made/kinds.h"

namespace mplus::train::made {
namespace {

constexpr std::string_view kGoodKind =
    "# age\nof <person>\nis <3..9>\n+ {1} is {=}.\n+ {1} turned {=}.\n? How old is {1}?\n~ how old {1} is\n"
    "- {1}'s age\n";

// Small tables that are as they should be; a test replaces one.
std::vector<TableFile> small_tables() {
  return {{"syllables.txt",
           "double onset: bl\nonset: b\nvowel: a\ndouble vowel: ai\nstop: d\nsimple onset: m\nending: en\n"
           "taken: bishop\n"},
          {"names.txt", "first: Ann, Ben\nperson: <first> <last>,\n  <first>\n"},
          {"words.txt", "// comment\n\nlast: Moss\n"},
          {"people.txt", kGoodKind},
          {"lives.txt", ""},
          {"things.txt", ""},
          {"events.txt", ""},
          {"organisations.txt", ""},
          {"places.txt", ""},
          {"inventions.txt", ""},
          {"machines.txt", ""},
          {"ourselves.txt", ""}};
}

std::vector<TableFile> with(std::string_view name, std::string_view text) {
  std::vector<TableFile> files = small_tables();
  for (TableFile& file : files)
    if (file.name == name) file.text = text;
  return files;
}

struct Outcome {
  ErrorCode code;
  std::string message;
};

// What reading these tables throws.
Outcome refusal(const std::vector<TableFile>& files) {
  try {
    const Tables tables(files);
    const Lexicon lexicon(tables);
    const Kinds kinds(tables, lexicon);
  } catch (const Error& e) {
    return {e.code(), e.what()};
  }
  return {ErrorCode::cancelled, "nothing was thrown"};
}

void expect_refused(std::string_view table, std::string_view text, const std::string& message) {
  const Outcome found = refusal(with(table, text));
  EXPECT_EQ(found.message, message);
  EXPECT_EQ(found.code, ErrorCode::corrupt) << message;
}

TEST(MadeTables, AreReadLineByLine) {
  const std::vector<TableFile> files{{"a.txt", "// what it is\n\none\n two\n  three\n\nfour\nfive"}};
  const Tables tables(files);
  const std::vector<TableLine>& lines = tables.lines("a.txt");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].text, "one two three");
  EXPECT_EQ(lines[0].number, 3);
  EXPECT_EQ(lines[1].text, "four");
  EXPECT_EQ(lines[1].number, 7);
  EXPECT_EQ(lines[2].text, "five");
}

TEST(MadeTables, GiveListsAndKinds) {
  const std::vector<TableFile> files = small_tables();
  const Tables tables(files);
  const Lexicon lexicon(tables);
  EXPECT_EQ(lexicon.size(), 3u);
  const Kinds kinds(tables, lexicon);
  ASSERT_EQ(kinds.all.size(), 1u);
  EXPECT_EQ(kinds.named("age").questions.size(), 2u);   // one is made of the noun
  EXPECT_EQ(kinds.named("age").statements.size(), 5u);  // three are
  EXPECT_EQ(lexicon.count(kinds.fields[0]), 4);         // Ann Moss, Ben Moss, Ann, Ben
}

TEST(MadeTables, RefuseABadLineByItsNumber) {
  expect_refused("words.txt", "  Moss\n",
                 "words.txt, line 1: nothing stands before a line that begins with a space: \"Moss\"");
  expect_refused("words.txt", "last: Moss\n\nsize\n",
                 "words.txt, line 3: expected \"name: item, item, …\": \"size\"");
  expect_refused("words.txt", "last: Moss\n// sizes\nsize: <3..many>\n",
                 "words.txt, line 3: \"many\" is no number: \"size: <3..many>\"");
  expect_refused("words.txt", "last: Moss, <first\n",
                 "words.txt, line 1: a gap without an end, \"<first\": \"last: Moss, <first\"");
  expect_refused("words.txt", "last: Moss, <frist>\n",
                 "words.txt, line 1: no word list is called \"frist\": \"last: Moss, <frist>\"");
  expect_refused("words.txt", "last: Moss, , Reed\n",
                 "words.txt, line 1: an item is empty: \"last: Moss, , Reed\"");
  expect_refused("people.txt", "of <person>\n",
                 "people.txt, line 1: no kind of fact (# name) stands before it: \"of <person>\"");
  expect_refused("lives.txt", "of <person>\n",  // although people.txt has one
                 "lives.txt, line 1: no kind of fact (# name) stands before it: \"of <person>\"");
  expect_refused("people.txt", "# age\n* {1} is {=}.\n",
                 "people.txt, line 2: not a line of a kind of fact: \"* {1} is {=}.\"");
  expect_refused("people.txt", "# age\n+ {4} is {=}.\n",
                 "people.txt, line 2: \"{4}\" is no gap: expected 1, 2, 3 or =, perhaps behind \"a \": "
                 "\"+ {4} is {=}.\"");
  expect_refused("people.txt", "# age\n+ {1 is {=\n",
                 "people.txt, line 2: a gap without an end, \"{1 is {=\": \"+ {1 is {=\"");
  expect_refused("people.txt", "\n# age\nof <person>\n",
                 "people.txt, line 2: a kind of fact needs of, is, three statements (+ and those of -), two "
                 "questions, ~ and -: \"# age\"");
}

TEST(MadeTables, RefuseWhatStandsTwice) {
  std::vector<TableFile> files = small_tables();
  files.push_back(files.front());
  EXPECT_EQ(refusal(files).message, "syllables.txt: two tables have this name");
  EXPECT_EQ(refusal(files).code, ErrorCode::corrupt);
  expect_refused("words.txt", "last: Moss\nfirst: Cid\n",  // names.txt has one
                 "words.txt, line 2: a list of this name stands before it: \"first: Cid\"");
  expect_refused("lives.txt", kGoodKind,
                 "lives.txt, line 1: a kind of this name stands before it: \"# age\"");
}

TEST(MadeTables, RefuseAFrameWithoutItsOneGap) {
  for (const char* text : {"Fine: {}\nDo tell.\n", "Fine: {}\n{} and {}\n"}) {
    const std::vector<TableFile> files{{"frames.txt", text}};
    const Tables tables(files);
    try {
      tables.frames("frames.txt");
      ADD_FAILURE() << text;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::corrupt);
      EXPECT_EQ(std::string(e.what()).find("frames.txt, line 2: expected one {}: "), 0u) << e.what();
    }
  }
}

// A file that the build does not list would do nothing.
TEST(MadeTables, AreAllEmbeddedAsTheyAre) {
  const std::filesystem::path folder =
      std::filesystem::path(MPLUS_SOURCE_DIR) / "mplus/train/lessons/made/tables";
  std::set<std::string> there, embedded;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    there.insert(entry.path().filename().string());
  for (const TableFile& file : embedded_tables()) {
    embedded.emplace(file.name);
    EXPECT_EQ(file.text, read_text_file(folder / file.name)) << file.name;
  }
  EXPECT_EQ(embedded, there);
}

TEST(MadeTables, RefuseAMissingTable) {
  std::vector<TableFile> files = small_tables();
  std::erase_if(files, [](const TableFile& file) { return file.name == "words.txt"; });
  EXPECT_EQ(refusal(files).code, ErrorCode::not_found);
  EXPECT_NE(refusal(files).message.find("words.txt"), std::string::npos) << refusal(files).message;
  files = with("syllables.txt", "onset: b\n");
  EXPECT_EQ(refusal(files).code, ErrorCode::not_found);
  EXPECT_NE(refusal(files).message.find("double onset"), std::string::npos) << refusal(files).message;
}

}  // namespace
}  // namespace mplus::train::made
