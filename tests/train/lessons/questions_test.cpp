// Questions to be made up: the form a model makes them in, what of it can be used, and the passages they are
// made on.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <fstream>
#include <set>

#include "mplus/core/error.h"
#include "mplus/train/lessons/posed.h"
#include "mplus/train/lessons/token_data.h"
#include "mplus/train/questions/passages.h"

namespace mplus::train {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPassage =
    "The bridge at Orlow was built in 1871 by Marta Venn. It crosses the Sill, and carries trams.";

std::string made(const std::vector<PosedQuestion>& questions) {
  std::string text;
  for (const PosedQuestion& posed : questions) text += posed_form(posed);
  return text;
}

TEST(PosedQuestions, AreReadAsTheyAreWritten) {
  const auto read = read_posed(
      made({{"When was the bridge built?", "1871"}, {"Who built the bridge?", "Marta Venn"}}), kPassage);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].question, "When was the bridge built?");
  EXPECT_EQ(read[0].answer, "1871");
  EXPECT_EQ(read[1].answer, "Marta Venn");
}

TEST(PosedQuestions, OnlyWhatCanBeUsedIsKept) {
  const auto kept = [](const std::string& text) { return read_posed(text, kPassage).size(); };
  EXPECT_EQ(kept(made({{"Which river does it cross?", "the Danube"}})), 0u) << "not in the passage";
  EXPECT_EQ(kept(made({{"What crosses the Sill there?", "the Sill"}})), 0u) << "said in the question";
  EXPECT_EQ(kept(made({{"Who built it", "Marta Venn"}})), 0u) << "no question";
  EXPECT_EQ(kept(made({{"Who?", "Marta Venn"}})), 0u) << "too short";
  EXPECT_EQ(kept(made({{"Who built the bridge?", "Marta Venn"}, {"Who was its builder?", "Marta Venn"}})), 1u)
      << "asked for before";
  EXPECT_EQ(kept(made({{"What does the whole passage say?", std::string(kPassage)}})), 0u) << "too long";
  // Cut off at any place, it never gives half a question.
  const std::string whole =
      made({{"When was the bridge built?", "1871"}, {"Who built the bridge?", "Marta Venn"}});
  for (std::size_t n = 0; n <= whole.size(); ++n)
    for (const PosedQuestion& posed : read_posed(std::string_view(whole).substr(0, n), kPassage))
      EXPECT_TRUE(posed.question == "When was the bridge built?" ||
                  posed.question == "Who built the bridge?");
  for (const std::string_view junk :
       {"", "\n", "\n\n\n", " When was it?\nQuestion: When was it?\n", "Question: Question:", " \n \n \n"})
    EXPECT_TRUE(read_posed(junk, kPassage).empty());
}

std::string sentences(int from, int count) {
  std::string text;
  for (int i = from; i < from + count; ++i)
    text +=
        fmt::format("In the year {0} the town counted its houses again and found {0} of them. ", 1000 + i);
  return text;
}

TEST(Passages, AreWholeSentencesOfASize) {
  const std::string text = "# A heading\n\n" + sentences(0, 40) + "\n\n| a | table |\n|---|---|\n\n" +
                           sentences(50, 5) + "\n\n```\nint code() { return 1; }\n```\n\nToo short.\n";
  const auto passages = passages_of(text);
  ASSERT_GE(passages.size(), 4u);
  for (const std::string& passage : passages) {
    EXPECT_GE(passage.size(), 300u);
    EXPECT_LE(passage.size(), 1000u);
    EXPECT_TRUE(passage.starts_with("In the year")) << passage;
    EXPECT_TRUE(passage.ends_with("of them.")) << passage;
  }
  EXPECT_TRUE(passages_of("").empty());
  EXPECT_TRUE(passages_of("\n\n\n\n").empty());
  EXPECT_TRUE(passages_of(std::string(5000, 'x')).empty()) << "no words";
  EXPECT_TRUE(passages_of(std::string(5000, '.')).empty());
}

TEST(Passages, ShortParagraphsAreJoinedAndLinesMayBeParagraphs) {
  const auto joined = passages_of(sentences(0, 2) + "\n\n" + sentences(2, 2) + "\n\n" + sentences(4, 2));
  ASSERT_EQ(joined.size(), 1u);
  EXPECT_NE(joined[0].find("\n\n"), std::string::npos);
  const auto lines =
      passages_of("Area: | 1 | 2 | 3 | 4 | 5 |\n" + sentences(0, 5) + "\nKey = 4\n" + sentences(5, 5));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].find('|'), std::string::npos);
}

class PassageFile : public testing::Test {
 protected:
  ~PassageFile() override { fs::remove(file_); }
  void line(const std::string& json) { std::ofstream(file_, std::ios::app) << json << '\n'; }
  fs::path file_ = fs::temp_directory_path() / fmt::format("passages{}.jsonl", getpid());
};

TEST_F(PassageFile, AllKindsOfLinesGivePassagesAndHeldOutOnesNone) {
  int held = 0;
  for (int i = 0; held < 2; ++i) {
    const std::string text = sentences(10 * i, 5);
    held += held_out(text);
    const std::string title = fmt::format("t{}", i);
    switch (i % 3) {
      case 0:
        line(fmt::format(R"({{"title": "{}", "text": "{}"}})", title, text));
        break;
      case 1:
        line(fmt::format(R"({{"title": "{}", "context": "{}", "question": "?", "answers": ["a"]}})", title,
                         text));
        break;
      default:
        line(fmt::format(R"({{"title": "{}", "question": "?", "answers": ["{}"]}})", title, text));
    }
    if (!held_out(text)) continue;
    for (const TextPassage& passage : read_passages(file_, 100000)) EXPECT_NE(passage.title, title);
  }
  const auto all = read_passages(file_, 100000), some = read_passages(file_, 10);
  EXPECT_GT(all.size(), 20u);
  ASSERT_EQ(some.size(), 10u);
  EXPECT_EQ(some.front().title, all.front().title);
  std::set<std::string> titles;
  for (const TextPassage& passage : some) titles.insert(passage.title);
  EXPECT_EQ(titles.size(), 10u) << "spread over the file";
}

TEST_F(PassageFile, WhatWasHeardBeforeIsLeftOut) {
  for (int i = 0; i < 3; ++i) line(fmt::format(R"({{"text": "{}"}})", sentences(0, 5)));
  EXPECT_EQ(read_passages(file_, 100).size(), 1u);
}

TEST_F(PassageFile, AFileWithoutProseIsAnError) {
  line(R"({"text": "x"})");
  EXPECT_THROW(read_passages(file_, 100), Error);
  line("{");
  EXPECT_THROW(read_passages(file_, 100), Error);
}

}  // namespace
}  // namespace mplus::train
