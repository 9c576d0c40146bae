#include "mplus/serve/api/answer/history.h"

#include <algorithm>

#include "mplus/core/text.h"

namespace mplus::serve {
namespace {

// An answer that was stopped may have got further here than what its client saw of it.
bool same(const SaidTurn& held, const SaidTurn& sent) {
  return held.message == sent.message && held.answer.starts_with(sent.answer);
}

// How many turns before these two places are the same.
std::size_t common(const std::vector<SaidTurn>& held, std::size_t held_end, const std::vector<SaidTurn>& sent,
                   std::size_t sent_end) {
  std::size_t n = 0;
  while (n < held_end && n < sent_end && same(held[held_end - n - 1], sent[sent_end - n - 1])) ++n;
  return n;
}

bool quotes(std::string_view text, std::string_view part) {
  return !part.empty() && text.find(part) != text.npos;
}

// "…\nUser: Hello.\nAI: …": a line that tells who said it.
bool is_transcript_of(std::string_view text, std::string_view message) {
  for (std::size_t at = text.find(message); !message.empty() && at != text.npos;
       at = text.find(message, at + 1)) {
    const std::string_view before = text.substr(0, at);
    const std::string_view line = before.substr(before.rfind('\n') + 1);  // npos + 1 is 0
    if (contains_ignoring_case(line, "user:") || contains_ignoring_case(line, "human:")) return true;
  }
  return false;
}

}  // namespace

const char* history_action_name(HistoryAction action) {
  switch (action) {
    case HistoryAction::continued:
      return "continued";
    case HistoryAction::branched:
      return "branched";
    case HistoryAction::caught_up:
      return "caught_up";
    case HistoryAction::aside:
      return "aside";
  }
  return "";
}

std::vector<SaidTurn> turns_of(const engine::Record& record) {
  std::vector<SaidTurn> turns;
  for (std::int64_t i = 0; i < record.sources(); ++i) {
    const engine::Source& source = record.source(i);
    if (source.speaker == engine::Speaker::user) turns.push_back({std::string(trim(source.text)), ""});
    if (source.speaker == engine::Speaker::assistant && !turns.empty())
      turns.back().answer = trim(source.text);
  }
  return turns;
}

HistoryPlan plan_history(const std::vector<SaidTurn>& held, const std::vector<SaidTurn>& sent,
                         std::string_view newest, bool whole) {
  if (held.empty()) {
    if (sent.empty()) return {};
    return {HistoryAction::caught_up, 0, sent};
  }
  // A title, tags, follow-up questions: clients ask for them with the conversation in the prompt.
  const SaidTurn& last = held.back();
  if ((quotes(newest, last.message) && quotes(newest, last.answer)) || is_transcript_of(newest, last.message))
    return {HistoryAction::aside, 0, {}};
  if (sent.empty() && whole) return {HistoryAction::branched, 0, {}};
  if (sent.empty()) {
    // The first message once more: it is to be answered anew. Another one begins a new conversation here.
    const auto repeated = std::find_if(held.rbegin(), held.rend(),
                                       [&](const SaidTurn& turn) { return turn.message == trim(newest); });
    if (repeated == held.rbegin()) return {HistoryAction::branched, held.size() - 1, {}};
    return {};
  }
  // The newest place where both go on from the same. Before it either may have more: clients leave out what
  // no longer fits, and a memory may have begun later than the conversation.
  for (std::size_t known = sent.size(); known > 0; --known)
    for (std::size_t end = held.size(); end > 0; --end) {
      const std::size_t n = common(held, end, sent, known);
      if (n == 0 || (n < known && n < end)) continue;
      std::vector<SaidTurn> unknown(sent.begin() + static_cast<std::ptrdiff_t>(known), sent.end());
      if (end < held.size()) return {HistoryAction::branched, end, std::move(unknown)};
      if (unknown.empty()) return {};
      return {HistoryAction::caught_up, 0, std::move(unknown)};
    }
  return {HistoryAction::caught_up, 0, sent};
}

std::int64_t events_after_turn(const store::StoredSession& session, std::size_t keep) {
  std::size_t turns = 0;
  std::int64_t after = 0;
  for (const store::StoredEvent& event : session.journal().events()) {
    if (!event.in_force()) continue;
    const bool is_turn = event.kind == store::EventKind::turn;
    if (event.kind == store::EventKind::text && after > 0) return 0;
    if (is_turn) ++turns;
    if (turns > keep && (is_turn || event.kind == store::EventKind::flush)) ++after;
  }
  return after;
}

}  // namespace mplus::serve
