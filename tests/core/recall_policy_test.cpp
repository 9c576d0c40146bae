#include "mplus/core/recall_policy.h"

#include <gtest/gtest.h>

#include "tests/io/expect_error.h"

namespace mplus {
namespace {

TEST(RecallPolicy, NamesLeadBackToWhatTheyName) {
  for (const RecallRule rule : kRecallRules) {
    EXPECT_EQ(recall_rule_from_name(recall_rule_name(rule)), rule);
    EXPECT_NE(recall_rule_names().find(recall_rule_name(rule)), std::string::npos);
  }
  for (const ReadOver over : {ReadOver::everything, ReadOver::recalled, ReadOver::attempts})
    EXPECT_EQ(read_over_from_name(read_over_name(over)), over);
  EXPECT_FALSE(recall_rule_from_name("") || read_over_from_name("") || search_from_name(""));
}

TEST(RecallPolicy, ARequestSaysWhatDiffers) {
  RecallPolicy delta;
  delta.rule = RecallRule::consensus;
  delta.over_everything = true;
  delta.margin = 1.5;
  delta.read_over = ReadOver::attempts;
  delta.no_answer = "I do not know.";
  delta.attempts = 4;
  const RecallPolicy same = resolved(delta, {});
  EXPECT_EQ(same.rule, RecallRule::consensus);
  EXPECT_EQ(same.margin, 1.5);
  EXPECT_EQ(same.read_over, ReadOver::attempts);
  EXPECT_EQ(same.evidence, EvidenceRule::names);
  EXPECT_EQ(same.hops, 2);
  RecallRequest request;
  request.rule = RecallRule::hybrid;
  request.margin = 0.5;
  request.words_weight = 2;
  request.search = Search::exact;
  request.evidence = EvidenceRule::none;
  request.hops = 1;
  request.read_over = ReadOver::recalled;
  const RecallPolicy other = resolved(delta, request);
  EXPECT_EQ(other.rule, RecallRule::hybrid);
  EXPECT_EQ(other.margin, 0.5);
  EXPECT_EQ(other.words_weight, 2);
  EXPECT_EQ(other.search.search, Search::exact);
  EXPECT_EQ(other.read_over, ReadOver::recalled);
  EXPECT_EQ(other.attempts, 4);
  EXPECT_EQ(other.evidence, EvidenceRule::none);
  EXPECT_EQ(other.hops, 1);
  for (const std::int64_t hops : {std::int64_t{0}, kMostHops + 1}) {
    request.hops = hops;
    EXPECT_THROW(resolved(delta, request), Error);
  }
}

TEST(RecallPolicy, WithoutShortTermRowsEverythingIsRead) {
  RecallPolicy delta;
  delta.over_everything = true;
  delta.read_over = ReadOver::recalled;
  RecallRequest request;
  request.over_everything = false;
  EXPECT_EQ(resolved(delta, request).read_over, ReadOver::everything);
  request.read_over = ReadOver::recalled;
  EXPECT_MPLUS_ERROR(ErrorCode::invalid_argument, ("short-term memory competes"), resolved(delta, request));
}

TEST(RecallPolicy, AttemptsNeedTheWordsThatSayThereIsNoAnswer) {
  RecallPolicy delta;
  delta.over_everything = true;
  RecallRequest request;
  request.read_over = ReadOver::attempts;
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("no_answer"), resolved(delta, request));
}

}  // namespace
}  // namespace mplus
