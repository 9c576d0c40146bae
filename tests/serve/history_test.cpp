// Conversations that clients send again, against what a memory holds of them.
#include "mplus/serve/api/answer/history.h"

#include <gtest/gtest.h>

namespace mplus::serve {
namespace {

using Turns = std::vector<SaidTurn>;

const SaidTurn kOne{"My cat is Mungo.", "Okay."}, kTwo{"And my dog?", "I do not know."},
    kThree{"It is Rex.", "Okay."};

std::vector<std::string> messages(const Turns& turns) {
  std::vector<std::string> list;
  for (const SaidTurn& turn : turns) list.push_back(turn.message);
  return list;
}

TEST(History, AFirstMessageContinues) {
  const HistoryPlan plan = plan_history({}, {}, "Hello.");
  EXPECT_EQ(plan.action, HistoryAction::continued);
  EXPECT_TRUE(plan.unknown.empty());
}

TEST(History, WhatIsHeldAlreadyIsNotTakenInAgain) {
  EXPECT_EQ(plan_history({kOne, kTwo}, {kOne, kTwo}, "Next.").action, HistoryAction::continued);
  // Clients leave out what no longer fits their limit.
  EXPECT_EQ(plan_history({kOne, kTwo, kThree}, {kThree}, "Next.").action, HistoryAction::continued);
}

TEST(History, AMessageWithoutHistoryBeginsAnotherConversation) {
  EXPECT_EQ(plan_history({kOne, kTwo}, {}, "Something else.").action, HistoryAction::continued);
}

TEST(History, AFirstMessageTakesTheConversationsPlaceWhereThatIsTheWholeOfIt) {
  const HistoryPlan plan = plan_history({kOne, kTwo}, {}, "Something else.", true);
  EXPECT_EQ(plan.action, HistoryAction::branched);
  EXPECT_EQ(plan.keep, 0u);
  EXPECT_EQ(plan_history({kOne, kTwo}, {kOne, kTwo}, "Next.", true).action, HistoryAction::continued);
  EXPECT_EQ(plan_history({}, {}, "Hello.", true).action, HistoryAction::continued);
}

TEST(History, AnEditedMessageGoesOnBeforeIt) {
  const HistoryPlan plan = plan_history({kOne, kTwo, kThree}, {kOne}, "And my parrot?");
  EXPECT_EQ(plan.action, HistoryAction::branched);
  EXPECT_EQ(plan.keep, 1u);
  EXPECT_TRUE(plan.unknown.empty());
}

TEST(History, ARegeneratedAnswerTakesTheOldOnesPlace) {
  const HistoryPlan later = plan_history({kOne, kTwo}, {kOne}, kTwo.message);
  EXPECT_EQ(later.action, HistoryAction::branched);
  EXPECT_EQ(later.keep, 1u);
  const HistoryPlan first = plan_history({kOne}, {}, kOne.message);
  EXPECT_EQ(first.action, HistoryAction::branched);
  EXPECT_EQ(first.keep, 0u);
}

TEST(History, AnEditedAnswerIsTakenInAsItIsNow) {
  const SaidTurn edited{kTwo.message, "Rex."};
  const HistoryPlan plan = plan_history({kOne, kTwo}, {kOne, edited}, "Next.");
  EXPECT_EQ(plan.action, HistoryAction::branched);
  EXPECT_EQ(plan.keep, 1u);
  EXPECT_EQ(messages(plan.unknown), (std::vector<std::string>{kTwo.message}));
}

TEST(History, WhatTheMemoryDoesNotKnowIsCaughtUpWith) {
  const HistoryPlan new_memory = plan_history({}, {kOne, kTwo}, "Next.");
  EXPECT_EQ(new_memory.action, HistoryAction::caught_up);
  EXPECT_EQ(messages(new_memory.unknown), messages({kOne, kTwo}));
  const HistoryPlan said_elsewhere = plan_history({kOne}, {kOne, kTwo}, "Next.");
  EXPECT_EQ(said_elsewhere.action, HistoryAction::caught_up);
  EXPECT_EQ(messages(said_elsewhere.unknown), messages({kTwo}));
  EXPECT_EQ(plan_history({kOne}, {kThree}, "Next.").action, HistoryAction::caught_up);
}

TEST(History, WhatWasCaughtUpWithIsNotTakenInAgain) {
  // The memory knows the first turn as a document, and the second as a turn.
  EXPECT_EQ(plan_history({kTwo}, {kOne, kTwo}, "Next.").action, HistoryAction::continued);
  const HistoryPlan edited = plan_history({kTwo, kThree}, {kOne, kTwo}, "Another.");
  EXPECT_EQ(edited.action, HistoryAction::branched);
  EXPECT_EQ(edited.keep, 1u);
}

TEST(History, AStoppedAnswerIsTheSameTurn) {
  EXPECT_EQ(plan_history({kOne, kTwo}, {kOne, {kTwo.message, "I do"}}, "Next.").action,
            HistoryAction::continued);
  EXPECT_EQ(plan_history({kOne, kTwo}, {kOne, {kTwo.message, ""}}, "Next.").action, HistoryAction::continued);
}

TEST(History, ARequestForATitleIsAside) {
  const std::string title =
      "Write a title for this chat:\nUser: " + kTwo.message + "\nAssistant: " + kTwo.answer;
  EXPECT_EQ(plan_history({kOne, kTwo}, {}, title).action, HistoryAction::aside);
  EXPECT_EQ(plan_history({kOne, kTwo}, {kOne, kTwo}, title).action, HistoryAction::aside);
  // Asked for while the answer is still being made.
  EXPECT_EQ(
      plan_history({kOne}, {}, "Give a title.\n\nConversation:\nUser: " + kOne.message + "\nAI: ").action,
      HistoryAction::aside);
  // A message that repeats what was said, but not what was answered, is one.
  EXPECT_EQ(plan_history({kOne}, {}, kOne.message + " And my dog is Rex.").action, HistoryAction::continued);
}

TEST(History, TurnsOfARecord) {
  engine::Record record;
  record.add_source({"notes", engine::Speaker::document, "text"});
  record.add_source({"conversation", engine::Speaker::user, " Hello. "});
  record.add_source({"conversation", engine::Speaker::assistant, "Hi.\n"});
  record.add_source({"conversation", engine::Speaker::user, "Bye."});
  const Turns turns = turns_of(record);
  ASSERT_EQ(turns.size(), 2u);
  EXPECT_EQ(turns[0].message, "Hello.");
  EXPECT_EQ(turns[0].answer, "Hi.");
  EXPECT_EQ(turns[1].answer, "");
}

}  // namespace
}  // namespace mplus::serve
