#include "mplus/memory/recall/recall.h"

#include <algorithm>

#include "mplus/core/error.h"
#include "mplus/memory/recall/rules/rules.h"

namespace mplus::memory {
namespace {

class NoRecall final : public Recall {
 public:
  std::vector<RecalledRow> rows(kernels::Context&, const Memory&, std::int64_t,
                                const LayerQueries&) override {
    return {};
  }
};

}  // namespace

void Recall::plan(kernels::Context&, const Memory&, std::span<const LayerQueries>, const Prior*) {}

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

std::optional<ReadOver> read_over_from_name(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kReadOverNames); ++i)
    if (name == kReadOverNames[i]) return static_cast<ReadOver>(i);
  return std::nullopt;
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

std::vector<RecalledRow> pick(const ScoredRows& scored, std::span<const std::int64_t> numbers) {
  std::vector<RecalledRow> rows;
  rows.reserve(numbers.size());
  for (const std::int64_t row : numbers) {
    const RowId id = scored.id(row);
    rows.push_back({id, scored.birth(id), scored.score(id)});
  }
  return rows;
}

std::unique_ptr<Recall> make_recall(RecallRule rule, RecallOptions options) {
  switch (rule) {
    case RecallRule::none:
      return std::make_unique<NoRecall>();
    case RecallRule::per_layer:
    case RecallRule::random:
    case RecallRule::attention:
      return make_row_recall(rule, options.seed);
    case RecallRule::consensus:
    case RecallRule::hybrid:
    case RecallRule::words:
    case RecallRule::oracle:
    case RecallRule::vector:
      return make_chunk_recall(rule, std::move(options));
  }
  MPLUS_CHECK(false, "recall rule {}", static_cast<int>(rule));
}

}  // namespace mplus::memory
