#include "mplus/core/recall_policy.h"

#include "mplus/core/error.h"

namespace mplus {
namespace {

// Of an enumeration whose names stand in its order.
template <class Enum, std::size_t N>
std::optional<Enum> named(const std::string_view (&names)[N], std::string_view name) {
  for (std::size_t i = 0; i < N; ++i)
    if (name == names[i]) return static_cast<Enum>(i);
  return std::nullopt;
}

template <class Enum, std::size_t N>
std::string_view name_of(const std::string_view (&names)[N], Enum value) {
  return names[static_cast<std::size_t>(value)];
}

}  // namespace

std::string_view recall_rule_name(RecallRule rule) {
  switch (rule) {
    case RecallRule::none:
      return "none";
    case RecallRule::per_layer:
      return "per-layer";
    case RecallRule::consensus:
      return "consensus";
    case RecallRule::hybrid:
      return "hybrid";
    case RecallRule::words:
      return "words";
    case RecallRule::random:
      return "random";
    case RecallRule::attention:
      return "attention";
    case RecallRule::oracle:
      return "oracle";
    case RecallRule::vector:
      return "vector";
  }
  return "?";
}

std::optional<RecallRule> recall_rule_from_name(std::string_view name) {
  for (const RecallRule rule : kRecallRules)
    if (recall_rule_name(rule) == name) return rule;
  return std::nullopt;
}

std::string recall_rule_names() {
  std::string names;
  for (const RecallRule rule : kRecallRules)
    names.append(names.empty() ? "" : ", ").append(recall_rule_name(rule));
  return names;
}

std::optional<ReadOver> read_over_from_name(std::string_view name) {
  return named<ReadOver>(kReadOverNames, name);
}
std::string_view read_over_name(ReadOver read_over) { return name_of(kReadOverNames, read_over); }

std::optional<EvidenceRule> evidence_from_name(std::string_view name) {
  return named<EvidenceRule>(kEvidenceNames, name);
}
std::string_view evidence_name(EvidenceRule evidence) { return name_of(kEvidenceNames, evidence); }

std::optional<TalkRule> talk_from_name(std::string_view name) { return named<TalkRule>(kTalkNames, name); }
std::string_view talk_name(TalkRule talk) { return name_of(kTalkNames, talk); }

std::optional<Search> search_from_name(std::string_view name) {
  if (name == "auto") return Search::automatic;
  if (name == "exact") return Search::exact;
  if (name == "two-level") return Search::two_level;
  return std::nullopt;
}

RecallPolicy resolved(RecallPolicy policy, const RecallRequest& request) {
  policy.rule = request.rule.value_or(policy.rule);
  policy.words_weight = request.words_weight.value_or(policy.words_weight);
  policy.over_everything = request.over_everything.value_or(policy.over_everything);
  policy.margin = request.margin.value_or(policy.margin);
  policy.evidence = request.evidence.value_or(policy.evidence);
  policy.talk = request.talk.value_or(policy.talk);
  policy.hops = request.hops.value_or(policy.hops);
  if (policy.hops < 1 || policy.hops > kMostHops)
    fail(ErrorCode::invalid_argument, "hops: expected 1 or {}, got {}", kMostHops, policy.hops);
  policy.search.search = request.search.value_or(policy.search.search);
  if (!policy.over_everything) policy.read_over = ReadOver::everything;
  policy.read_over = request.read_over.value_or(policy.read_over);
  if (policy.read_over != ReadOver::everything && !policy.over_everything)
    fail(ErrorCode::invalid_argument,
         "a question can be read over what is recalled alone only where short-term memory competes for "
         "recall (recall over everything)");
  if (policy.read_over == ReadOver::attempts && policy.no_answer.empty())
    fail(ErrorCode::unsupported,
         "chunks cannot be read one by one: the delta does not name the words that say there is no answer "
         "(metadata \"no_answer\")");
  return policy;
}

}  // namespace mplus
