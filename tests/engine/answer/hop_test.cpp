#include "mplus/engine/answer/hop.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "mplus/core/text.h"

namespace mplus::engine {
namespace {

const std::vector<std::string> kPassages = {
    "It rained. Ana Berg's boss is Peter Novak. Nobody minded.",       // 0
    "The mill burned. Peter Novak lives in Leeds. It was late.",       // 1
    "Carla Voss's boss is Ivo Lund. Ana Berg plays the oboe.",         // 2
    "Ivo Lund lives in Ghent. He works as a baker.",                   // 3
    "Ana Berg is employed by Foxhollow Mills. She was born in Graz.",  // 4
    "Foxhollow Mills was founded in 1911.",                            // 5
    "Ugo Stein's sister is Rita Hall.",                                // 6
    "Rita Hall lives in Turin, in a city by a river.",                 // 7
    "Tom Reed was born in Cork.",                                      // 8
    "Cork hosts the Batav festival.",                                  // 9
};

std::vector<std::int64_t> find(std::string_view words) {
  const std::vector<TextWord> wanted = text_words(words);
  std::vector<std::pair<std::ptrdiff_t, std::int64_t>> found;
  for (std::size_t c = 0; c < kPassages.size(); ++c) {
    const std::vector<TextWord> text = text_words(kPassages[c]);
    const auto n = std::count_if(wanted.begin(), wanted.end(), [&](const TextWord& word) {
      return std::any_of(text.begin(), text.end(), [&](const TextWord& w) { return w.form == word.form; });
    });
    if (n > 0) found.emplace_back(-n, static_cast<std::int64_t>(c));
  }
  std::sort(found.begin(), found.end());
  std::vector<std::int64_t> chunks;
  for (const auto& [n, chunk] : found) chunks.push_back(chunk);
  return chunks;
}

std::optional<Link> link(std::string_view question) {
  return Hop(Evidence(question), question)
      .from(find(question),
            {.text = [](std::int64_t c) { return kPassages[static_cast<std::size_t>(c)]; }, .find = find});
}

std::string way(std::string_view question) {
  const std::optional<Link> found = link(question);
  return found ? std::to_string(found->from) + ">" + std::to_string(found->to) + " " + found->question : "";
}

TEST(Hop, WhatAPassageNamesIsAskedAbout) {
  EXPECT_EQ(way("In which city does Ana Berg's boss live?"), "0>1 In which city does Peter Novak live?");
  EXPECT_EQ(way("Where does the boss of Ana Berg live?"), "0>1 Where does Peter Novak live?");
  EXPECT_EQ(way("Where does the person who is Ana Berg's boss live?"), "0>1 Where does Peter Novak live?");
  EXPECT_EQ(way("Where does the boss that Ana Berg has live?"), "0>1 Where does Peter Novak live?");
  EXPECT_EQ(way("What does Carla Voss's boss work as?"), "2>3 What does Ivo Lund work as?");
}

TEST(Hop, WhatLeadsOnMayBeToldInOtherWords) {
  EXPECT_EQ(way("When was the company Ana Berg works for founded?"), "4>5 When was Foxhollow Mills founded?");
  EXPECT_EQ(way("In which year was Ana Berg's company founded?"),
            "4>5 In which year was Foxhollow Mills founded?");
}

TEST(Hop, AnotherRelationDoesNotLeadOn) {
  EXPECT_EQ(way("In which city does Ugo Stein's boss live?"), "") << "only a sister is told";
  EXPECT_EQ(way("In which city does Ugo Stein's sister live?"), "6>7 In which city does Rita Hall live?");
}

TEST(Hop, OneFactIsNoReasonToGoOn) {
  EXPECT_EQ(way("Who is Ana Berg's boss?"), "");
  EXPECT_EQ(way("What is the name of Ana Berg's boss?"), "");
  EXPECT_EQ(way("Where does Peter Novak live?"), "");
  EXPECT_EQ(way("Where was Tom Reed born?"), "") << "Cork stands elsewhere, too";
  EXPECT_EQ(way("What colour is Tom Reed's car?"), "") << "not told, and a car leads nowhere";
  EXPECT_EQ(way("Where does the boss live?"), "") << "nothing is named";
  EXPECT_EQ(way(""), "");
}

TEST(Hop, WithoutTheSecondPassageThereIsNoWay) {
  const std::string question = "In which city does Ana Berg's boss live?";
  const auto without = [](std::string_view words) {
    std::vector<std::int64_t> chunks = find(words);
    std::erase(chunks, 1);
    return chunks;
  };
  EXPECT_FALSE(Hop(Evidence(question), question)
                   .from(without(question),
                         {.text = [](std::int64_t c) { return kPassages[static_cast<std::size_t>(c)]; },
                          .find = without}));
}

TEST(Hop, DoubtsWhatOnePassageSaidWhereBothSayMore) {
  const std::string question = "In which city does Ana Berg's boss live?";
  const Hop hop(Evidence(question), question);
  const std::optional<Link> found = link(question);
  ASSERT_TRUE(found);
  EXPECT_TRUE(hop.doubts("Peter Novak", kPassages[0], *found)) << "only who leads on";
  EXPECT_TRUE(hop.doubts("Ana Berg", kPassages[0], *found));
  EXPECT_TRUE(hop.doubts("Graz", kPassages[4], *found)) << "of Ana herself";
  EXPECT_TRUE(hop.doubts("London", kPassages[0], *found)) << "stands nowhere";
  EXPECT_FALSE(hop.doubts("Rome", "Ana Berg's boss lives in the city of Rome.", *found));
}

}  // namespace
}  // namespace mplus::engine
