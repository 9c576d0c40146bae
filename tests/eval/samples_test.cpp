#include "mplus/eval/data/samples.h"

#include <gtest/gtest.h>

#include "tests/eval/expect_error.h"
#include "tests/eval/temporary_file.h"

namespace mplus::eval {
namespace {

TEST(Questions, TakeTheirIdOrTheirLine) {
  const TemporaryFolder folder;
  const auto file = folder.write(
      "set.jsonl",
      "{\"id\":\"q1\",\"title\":\"T\",\"context\":\"C\",\"question\":\"Q?\",\"answers\":[\"A\"]}\n"
      "\n{\"context\":\"C\",\"question\":\"Q?\",\"answers\":\"A\",\"other\":7}\n");
  const auto questions = read_questions(file, PassageNeed::required);
  ASSERT_EQ(questions.size(), 2u);
  EXPECT_EQ(questions[0].id, "q1");
  EXPECT_EQ(questions[0].article, "T");
  EXPECT_EQ(questions[1].id, "set-3");
  EXPECT_EQ(questions[1].answers, (std::vector<std::string>{"A"}));
  EXPECT_EQ(questions[1].line, 3);
}

TEST(Questions, NameLineAndFieldOfWhatIsWrong) {
  const TemporaryFolder folder;
  const std::string good = "{\"context\":\"C\",\"question\":\"Q?\",\"answers\":[]}\n";
  const auto check = [&](const std::string& line, std::initializer_list<std::string> words) {
    const auto file = folder.write("set.jsonl", good + line);
    expect_error(ErrorCode::corrupt, words, [&] { read_questions(file, PassageNeed::required); });
  };
  check("{\"context\":\"C\",\"answers\":[]}", {"set.jsonl:2", "question"});
  check("{\"context\":\"C\",\"question\":\" \",\"answers\":[]}", {"set.jsonl:2", "question", "empty"});
  check("{\"context\":\"C\",\"question\":7,\"answers\":[]}", {"set.jsonl:2", "question", "found '7"});
  check("{\"context\":\"C\",\"question\":\"Q\"}", {"set.jsonl:2", "answers"});
  check("{\"context\":\"C\",\"question\":\"Q\",\"answers\":[1]}", {"set.jsonl:2", "answers"});
  check("{\"question\":\"Q\",\"answers\":[]}", {"set.jsonl:2", "context"});
  const auto empty = folder.write("empty.jsonl", "\n");
  expect_error(ErrorCode::corrupt, {"empty.jsonl", "found none"},
               [&] { read_questions(empty, PassageNeed::optional); });
}

TEST(Conversations, HaveTurns) {
  const TemporaryFolder folder;
  const auto file = folder.write(
      "c.jsonl",
      "{\"turns\":[{\"role\":\"user\",\"content\":\"Hi\"},{\"role\":\"assistant\",\"content\":\"Ho\"}],"
      "\"question\":\"Q?\",\"answers\":[\"A\"]}\n");
  const auto conversations = read_conversations(file);
  ASSERT_EQ(conversations.size(), 1u);
  EXPECT_EQ(conversations[0].turns[1].role, io::Role::assistant);
  EXPECT_EQ(conversations[0].turns[1].content, "Ho");
  const auto bad =
      folder.write("b.jsonl", "{\"turns\":[{\"role\":\"robot\"}],\"question\":\"Q?\",\"answers\":[]}\n");
  expect_error(ErrorCode::corrupt, {"b.jsonl:1", "robot"}, [&] { read_conversations(bad); });
}

TEST(TwiceTold, HasBothTellings) {
  const TemporaryFolder folder;
  const auto file = folder.write("t.jsonl",
                                 "{\"first\":\"x is 1\",\"second\":\"x is "
                                 "2\",\"question\":\"x?\",\"answers\":[\"2\"],\"old\":[\"1\"]}\n");
  const auto told = read_twice_told(file);
  EXPECT_EQ(told.at(0).old, (std::vector<std::string>{"1"}));
  EXPECT_EQ(told.at(0).second, "x is 2");
}

TEST(Samples, AChainIsTwoTextsOfWhichOneMayBeLeftOut) {
  const TemporaryFolder folder;
  const std::string rest = ",\"question\":\"q?\",\"answers\":[\"v\"]}\n";
  const auto chains = read_chains(folder.write(
      "c.jsonl", "{\"told\":[\"a is b\",\"b is v\"]" + rest + "{\"told\":[null,\"b is v\"]" + rest));
  ASSERT_EQ(chains.size(), 2u);
  EXPECT_EQ(chains[0].told, (std::array<std::string, 2>{"a is b", "b is v"}));
  EXPECT_EQ(chains[1].told, (std::array<std::string, 2>{"", "b is v"}));
  EXPECT_EQ(chains[1].question.answers, (std::vector<std::string>{"v"}));
  for (const char* told : {"[null,null]", "[\"a\"]", "[\"a\",1]", "\"a\""}) {
    const auto file = folder.write("bad.jsonl", std::string("{\"told\":") + told + rest);
    expect_error(ErrorCode::corrupt, {"bad.jsonl", "told"}, [&] { read_chains(file); });
  }
}

}  // namespace
}  // namespace mplus::eval
