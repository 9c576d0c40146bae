#include "mplus/memory/recall.h"

#include <algorithm>
#include <unordered_map>

#include "mplus/core/error.h"

namespace mplus::memory {
namespace {

std::vector<RecalledRow> pick(const ScoredRows& scored, std::span<const std::int64_t> indices) {
  std::vector<RecalledRow> rows;
  rows.reserve(indices.size());
  for (std::int64_t i : indices) {
    const auto at = static_cast<std::size_t>(i);
    rows.push_back({scored.ids[at], scored.births[at], scored.scores[at]});
  }
  return rows;
}

class NoRecall final : public Recall {
 public:
  std::vector<RecalledRow> rows(kernels::Context&, const Memory&, std::int64_t,
                                const LayerQueries&) override {
    return {};
  }
};

// The paper's rule: every layer takes the K0 rows its own queries score best.
class PerLayerRecall final : public Recall {
 public:
  std::vector<RecalledRow> rows(kernels::Context& context, const Memory& memory, std::int64_t layer,
                                const LayerQueries& queries) override {
    const ScoredRows scored = score_long_term(context, memory, layer, queries);
    return pick(scored, take_best(scored.view(), memory.layout().K0));
  }
};

// The layers vote on chunks with the scores of a scout pass, then each takes its rows of the chunks voted
// best.
class ConsensusRecall final : public Recall {
 public:
  explicit ConsensusRecall(VoteOptions options) : options_(std::move(options)) {}

  bool wants_scout() const override { return true; }

  void plan(kernels::Context& context, const Memory& memory, std::span<const LayerQueries> scout,
            const Prior*) override {
    scored_.resize(scout.size());
    std::vector<LayerScores> views(scout.size());
    for (std::size_t l = 0; l < scout.size(); ++l) {
      scored_[l] = score_long_term(context, memory, static_cast<std::int64_t>(l), scout[l]);
      views[l] = scored_[l].view();
    }
    votes_ = vote(views, memory.layout().K, memory.updates() - 1, options_);
    order_ = votes_.order();
  }

  std::vector<RecalledRow> rows(kernels::Context&, const Memory& memory, std::int64_t layer,
                                const LayerQueries&) override {
    if (scored_.empty()) return {};  // not planned: there was nothing to recall
    const ScoredRows& scored = scored_.at(static_cast<std::size_t>(layer));
    return pick(scored, take_by_chunk(scored.view(), order_, memory.layout().K, memory.layout().K0));
  }

  const Votes* votes() const override { return &votes_; }

 private:
  VoteOptions options_;
  std::vector<ScoredRows> scored_;  // [L]
  Votes votes_;
  std::vector<std::int64_t> order_;
};

class RecordedRecall final : public Recall {
 public:
  explicit RecordedRecall(std::vector<std::vector<std::int64_t>> births) : births_(std::move(births)) {}

  std::vector<RecalledRow> rows(kernels::Context&, const Memory& memory, std::int64_t layer,
                                const LayerQueries&) override {
    std::unordered_map<std::int64_t, RowId> row_of_birth;
    memory.long_term().for_each(layer,
                                [&](RowId id, std::int64_t birth) { row_of_birth.emplace(birth, id); });
    std::vector<RecalledRow> rows;
    for (std::int64_t birth : births_.at(static_cast<std::size_t>(layer)))
      if (const auto at = row_of_birth.find(birth); at != row_of_birth.end())
        rows.push_back({at->second, birth, 0.0f});
    return rows;
  }

 private:
  std::vector<std::vector<std::int64_t>> births_;
};

}  // namespace

void Recall::plan(kernels::Context&, const Memory&, std::span<const LayerQueries>, const Prior*) {}

std::optional<RecallRule> recall_rule_from_name(std::string_view name) {
  for (RecallRule rule : {RecallRule::none, RecallRule::per_layer, RecallRule::consensus})
    if (recall_rule_name(rule) == name) return rule;
  return std::nullopt;
}

std::string_view recall_rule_name(RecallRule rule) {
  switch (rule) {
    case RecallRule::none:
      return "none";
    case RecallRule::per_layer:
      return "per-layer";
    case RecallRule::consensus:
      return "consensus";
  }
  return "?";
}

std::unique_ptr<Recall> make_recall(RecallRule rule, VoteOptions options) {
  switch (rule) {
    case RecallRule::none:
      return std::make_unique<NoRecall>();
    case RecallRule::per_layer:
      return std::make_unique<PerLayerRecall>();
    case RecallRule::consensus:
      return std::make_unique<ConsensusRecall>(std::move(options));
  }
  MPLUS_CHECK(false, "recall rule {}", static_cast<int>(rule));
}

std::unique_ptr<Recall> recall_births(std::vector<std::vector<std::int64_t>> births_by_layer) {
  return std::make_unique<RecordedRecall>(std::move(births_by_layer));
}

}  // namespace mplus::memory
