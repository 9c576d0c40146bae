// A conversation that a client sends again with each request, against what a memory holds of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mplus/store/session/stored_session.h"

namespace mplus::serve {

struct SaidTurn {
  std::string message, answer;  // without white space around them
};

// The turns that a memory holds, in order.
std::vector<SaidTurn> turns_of(const engine::Record& record);

enum class HistoryAction {
  continued,  // the newest message follows what the memory holds
  branched,   // it follows an earlier turn: what came after that is to be undone
  caught_up,  // it follows turns that the memory does not know
  aside,      // it is about the conversation, not a part of it
};
const char* history_action_name(HistoryAction action);

struct HistoryPlan {
  HistoryAction action = HistoryAction::continued;
  std::size_t keep = 0;                // branched: turns of the memory that stay
  std::vector<SaidTurn> unknown = {};  // caught up: to be taken in first
};

// `sent`: the turns in front of the newest message. `whole`: the memory's conversation is no longer than what
// is sent, so a first message takes the place of all there is; otherwise it begins another conversation.
HistoryPlan plan_history(const std::vector<SaidTurn>& held, const std::vector<SaidTurn>& sent,
                         std::string_view newest, bool whole = false);

// How many of the last events have to be undone so that `keep` turns are left; 0 where a document came after
// them, which must not be lost.
std::int64_t events_after_turn(const store::StoredSession& session, std::size_t keep);

}  // namespace mplus::serve
