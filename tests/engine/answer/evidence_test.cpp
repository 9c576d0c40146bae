#include "mplus/engine/answer/text/evidence.h"

#include <gtest/gtest.h>

namespace mplus::engine {
namespace {

constexpr const char* kNotes =
    "The Tagar bridge is 64691 meters long. Julia Weber works as a chemist. The car of Anna Novak is blue. "
    "Ben Fischer was a painter. He was born in 1913 in Oslo. Use dovo42 as the password for Risa. The car of "
    "Ugo Xu is red.";

bool refuted(std::string_view question, std::string_view answer, std::string_view passage = kNotes) {
  return Evidence(question).speaks_against(answer, {.text = std::string(passage), .before = {}});
}

std::string names(std::string_view question) { return Evidence(question).names(); }

TEST(Evidence, FindsNamesByTheirCapitals) {
  EXPECT_EQ(names("How long is the Tagar bridge?"), "Tagar");
  EXPECT_EQ(names("What is the color of Julia Weber's car?"), "Julia Weber");
  EXPECT_EQ(names("Did Anna's brother Ben Fischer call?"), "Anna, Ben Fischer");
  EXPECT_EQ(names("What did J. R. Tolkien write in l'Espagne?"), "J R Tolkien, Espagne");
  EXPECT_EQ(names("Where do I live?"), "") << "one letter is no name";
  EXPECT_EQ(names("Who won in 1998, and on what PC?"), "") << "numbers and abbreviations";
  EXPECT_EQ(names("how long is the bridge?"), "");
  EXPECT_EQ(names("塔加尔桥有多长？"), "");
  EXPECT_EQ(names("\xff\xfe?"), "");
}

TEST(Evidence, OnlyWhatAsksCounts) {
  EXPECT_EQ(names("My cousin Bob moved to Oslo. Where do I live?"), "");
  EXPECT_EQ(names("Hello, I am Tom. I live in Leeds."), "") << "nothing is asked";
  EXPECT_EQ(names("Name the capital city of Tarixe."), "Tarixe");
  EXPECT_EQ(names("how long is the Tagar bridge"), "Tagar");
  EXPECT_EQ(names("Say good night to Anna."), "") << "nor here";
}

TEST(Evidence, GermanNounsAreNoNames) {
  EXPECT_EQ(names("Welchen Beruf hat die Mutter von Julia Weber?"), "Julia Weber");
  EXPECT_EQ(names("Wie lang ist die Brücke?"), "");
}

TEST(Evidence, APassageAboutOthersAnswersNothing) {
  EXPECT_TRUE(refuted("How long is the Mogar bridge?", "64691 meters"));
  EXPECT_FALSE(refuted("How long is the Tagar bridge?", "64691 meters."));
  EXPECT_TRUE(refuted("What is the job of Clara Weber?", "chemist")) << "another Weber";
  EXPECT_FALSE(refuted("What is Weber's job?", "a chemist")) << "a part of the name";
  EXPECT_FALSE(refuted("How long is the bridge?", "64691 meters")) << "nothing is named";
}

TEST(Evidence, WhatDoesNotStandThereCameFromElsewhere) {
  EXPECT_FALSE(refuted("What is the capital of France?", "Paris"));
  EXPECT_FALSE(refuted("Who wrote Hamlet?", ""));
}

bool spoken_for(std::string_view question) { return Evidence(question).speaks_for(kNotes) > 0; }

TEST(Evidence, ASentenceThatNamesItAndSaysWhatIsAskedSpeaksForAPassage) {
  EXPECT_TRUE(spoken_for("How many meters long is the Tagar bridge?"));
  EXPECT_TRUE(spoken_for("What is the color of Anna Novak's car?")) << "half of the words";
  EXPECT_FALSE(spoken_for("When was the Tagar tunnel opened?")) << "named, but of something else";
  EXPECT_FALSE(spoken_for("How many meters long is the Togar bridge?")) << "nearly the name is another's";
  EXPECT_FALSE(spoken_for("What is the color of Julia Weber's car?")) << "in two sentences";
  EXPECT_FALSE(spoken_for("How many meters long is the bridge?")) << "nothing is named";
}

TEST(Evidence, ANewerTextSaysTheSameWithAnotherValue) {
  const Evidence where("Where does Anna Novak live?"), car("Which car does Ugo Xu have?");
  const auto anew = [](const Evidence& asked, std::string_view answer, std::string_view old,
                       std::string_view newer) { return asked.is_told_anew(answer, old, newer); };
  EXPECT_TRUE(
      anew(where, "Oslo", "Today Anna Novak lives in Oslo.", "By now Anna Novak lives in Bergen, they say."));
  EXPECT_TRUE(
      anew(where, "Oslo.", "Oslo is the home of Anna Novak.", "Since then Rome is the home of Anna Novak."));
  EXPECT_FALSE(anew(where, "Oslo", "Anna Novak lives in Oslo.", "Anna Novak lives in Oslo.")) << "the same";
  EXPECT_FALSE(anew(where, "Oslo", "Anna Novak lives in Oslo.", "Anna Novak lives in a house.")) << "no name";
  EXPECT_FALSE(anew(where, "Oslo", "Anna Novak lives in Oslo.", "Ben Novak lives in Rome.")) << "another's";
  EXPECT_FALSE(anew(where, "Oslo", "She lives in Oslo.", "She lives in Rome.")) << "of whom is not known";
  EXPECT_TRUE(anew(car, "a red one", "Ugo Xu has a red one.", "Ugo Xu has a blue one."))
      << "without its article";
  EXPECT_FALSE(anew(car, "", "Ugo Xu has a red one.", "Ugo Xu has a blue one."));
}

TEST(Evidence, DaysAndTwoWordsOfALongName) {
  EXPECT_EQ(names("What happened to the ship in Feb 2010?"), "");
  EXPECT_FALSE(refuted("How many of the Super Bowl MVPs came?", "39",
                       "39 of the Super Bowl Most Valuable Players came."));
}

TEST(Evidence, ASentenceAboutOthersAnswersNothing) {
  EXPECT_TRUE(refuted("What is the color of Julia Weber's car?", "red")) << "she is a chemist";
  EXPECT_FALSE(refuted("What is the color of Julia Weber's car?", "blue")) << "too near to tell";
  EXPECT_FALSE(refuted("What is the color of Anna Novak's car?", "blue"));
  EXPECT_FALSE(refuted("In what year was Ben Fischer born?", "1913")) << "the sentence before speaks of him";
  EXPECT_FALSE(refuted("Where does Julia Weber come from?", "Oslo")) << "the sentence is not about that";
}

TEST(Evidence, WhatStandsBeforeAPassageIsKnown) {
  const Evidence evidence("Who released the Tagar recordings?");
  EXPECT_TRUE(evidence.speaks_against("the BBC", {.text = "The BBC has released some.", .before = ""}));
  EXPECT_FALSE(
      evidence.speaks_against("the BBC", {.text = "The BBC has released some.", .before = "tagar.txt\n"}));
}

TEST(Evidence, NamesMayBeInflectedOrMisspelt) {
  EXPECT_FALSE(refuted("Was macht der Hund von Annas Bruder Ben Fischers?", "painter"));
  EXPECT_FALSE(refuted("When was Fisher born?", "1913"));
  EXPECT_FALSE(refuted("What is Ístanbul known for?", "ferries", "Istanbul has ferries."));
  EXPECT_FALSE(refuted("What is Connectitcut known for?", "clocks", "Connecticut makes clocks."));
  EXPECT_FALSE(refuted("What did the United Nations send?", "grain", "The UN sent grain."));
  EXPECT_FALSE(refuted("What is the Kitchen Aid for?", "dough", "The KitchenAid is for dough."));
  EXPECT_TRUE(refuted("What password opens Riso?", "dovo42")) << "short names differ in a letter";
  EXPECT_TRUE(refuted("Где живёт Иван Петров?", "Туле", "Анна Орлова живёт в Туле."));
  EXPECT_FALSE(refuted("Где живёт Анна Орлова?", "Туле", "Мы были у Анны Орловой. Она живёт в Туле."));
}

}  // namespace
}  // namespace mplus::engine
