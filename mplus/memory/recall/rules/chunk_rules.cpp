// consensus, hybrid, words, oracle, vector: chunks in order, every layer takes its rows of the best.
#include <algorithm>
#include <functional>
#include <optional>

#include "mplus/core/error.h"
#include "mplus/memory/recall/rules/rules.h"

namespace mplus::memory {
namespace {

class ChunkRecall final : public Recall {
 public:
  ChunkRecall(RecallRule rule, RecallOptions options) : rule_(rule), options_(std::move(options)) {}

  bool wants_scout() const override { return rule_ != RecallRule::words; }

  void plan(kernels::Context& context, const Memory& memory, std::span<const LayerQueries> scout,
            const Prior* prior) override {
    MPLUS_CHECK(!wants_scout() || std::ssize(scout) == memory.layout().layers, "scouts of {} layers",
                scout.size());
    score_recent(context, memory, scout);
    if (rule_ != RecallRule::vector && in_two_levels(memory, options_.search)) {
      std::vector<LayerScores> recent;
      for (const ScoredRows& rows : recent_) recent.push_back(rows.scores);
      found_.emplace(context, memory, scout, options_.vote, recent);
      found_->run(options_.search, [&](const Votes& votes) { return order_of(with_words(votes, prior)); });
      votes_ = with_words(found_->votes(), prior);
    } else {
      score(context, memory, scout);
      votes_ = with_words(votes_on_all(context, memory, scout), prior);
    }
    order_ = order_of(votes_, options_.margin);
    if (options_.read_over == ReadOver::in_turn && !recent_.empty()) take_turns();
  }

  std::vector<RecalledRow> rows(kernels::Context&, const Memory& memory, std::int64_t layer,
                                const LayerQueries&) override {
    if (window_alone() || (!found_ && scored_.empty()))
      return {};  // not planned: there was nothing to recall
    const auto l = static_cast<std::size_t>(layer);
    if (seen_.empty()) seen_.resize(static_cast<std::size_t>(memory.layout().layers));
    const std::span<const std::int64_t> order =
        turns_.empty() ? std::span(order_) : std::span(turns_).subspan(turn_ - window_turns(), 1);
    if (found_) return found_->rows(layer, order, &seen_[l]);
    const std::vector<std::int64_t> taken =
        take_by_chunk(rows_of(layer), order, memory.layout().K, memory.layout().K0);
    // Long-term rows are numbered first.
    const std::int64_t stored = scored_.at(l).rows();
    std::vector<std::int64_t> recalled;
    seen_[l].clear();
    for (const std::int64_t row : taken) {
      if (row < stored) recalled.push_back(row);
      else
        seen_[l].push_back(recent_[l].scores.pieces.front().births[static_cast<std::size_t>(row - stored)]);
    }
    return pick(scored_[l], recalled);
  }

  std::optional<std::vector<std::int64_t>> short_term(std::int64_t layer) const override {
    if (window_alone()) return std::vector<std::int64_t>();
    if (options_.read_over == ReadOver::everything || recent_.empty() || seen_.empty()) return std::nullopt;
    return seen_[static_cast<std::size_t>(layer)];
  }

  bool has_next() const override {
    return turn_ + 1 < std::max<std::size_t>(turns_.size(), 1) + window_turns();
  }
  void next() override { ++turn_; }
  std::optional<double> behind() const override {
    if (turns_.empty() || window_alone()) return std::nullopt;
    const std::size_t turn = turn_ - window_turns();
    const bool given = turn < static_cast<std::size_t>(given_turns());
    return given ? 0 : votes_.behind(turns_[turn]);
  }

  const Votes* votes() const override { return &votes_; }
  std::span<const ScoredRows> scores() const override {
    return wants_scout() ? std::span<const ScoredRows>(scored_) : std::span<const ScoredRows>();
  }

 private:
  // Given chunks as they were given, then those that come first by vote, the newest first: of two that say
  // different things about the same, the newer is right.
  void take_turns() {
    turns_.assign(order_.begin(), order_.begin() + std::min(std::ssize(order_), options_.most_in_turn));
    std::sort(turns_.begin() + given_turns(), turns_.end(), std::greater<std::int64_t>());
  }

  // Before the chunks, and where there is nothing but short-term memory before that.
  std::size_t window_turns() const {
    return options_.read_over == ReadOver::in_turn && options_.window_first ? 1 : 0;
  }
  bool window_alone() const { return turn_ < window_turns(); }

  std::ptrdiff_t given_turns() const {
    return rule_ == RecallRule::oracle ? std::min(std::ssize(options_.chunks), std::ssize(turns_)) : 0;
  }

  void score_recent(kernels::Context& context, const Memory& memory, std::span<const LayerQueries> scout) {
    if (!options_.over_everything || rule_ == RecallRule::vector) return;
    for (std::int64_t l = 0; l < memory.layout().layers; ++l)
      recent_.push_back(wants_scout()
                            ? score_short_term(context, memory, l, scout[static_cast<std::size_t>(l)])
                            : list_short_term(memory, l));
  }

  // Those that take part, long-term rows first.
  LayerScores rows_of(std::int64_t layer) const {
    const auto l = static_cast<std::size_t>(layer);
    return recent_.empty() ? scored_[l].scores : joined(scored_[l], recent_[l]);
  }

  void score(kernels::Context& context, const Memory& memory, std::span<const LayerQueries> scout) {
    scored_.resize(static_cast<std::size_t>(memory.layout().layers));
    for (std::size_t l = 0; l < scored_.size(); ++l) {
      const auto layer = static_cast<std::int64_t>(l);
      scored_[l] =
          wants_scout() ? score_long_term(context, memory, layer, scout[l]) : list_long_term(memory, layer);
    }
  }

  Votes votes_on_all(kernels::Context& context, const Memory& memory,
                     std::span<const LayerQueries> scout) const {
    if (rule_ == RecallRule::vector) return vector_votes(memory, scout);
    std::vector<LayerScores> views;
    for (std::int64_t l = 0; l < memory.layout().layers; ++l) views.push_back(rows_of(l));
    return vote(views, memory.layout().K, memory.updates() - 1, options_.vote, &context);
  }

  // Under `words` every vote is 0, so the prior decides alone and its ties go to the older chunk.
  Votes with_words(Votes votes, const Prior* prior) const {
    if (prior && rule_ == RecallRule::hybrid)
      return with_prior(std::move(votes), *prior, options_.prior_weight);
    if (prior && rule_ == RecallRule::words) return with_prior(std::move(votes), *prior, 1);
    return votes;
  }

  std::vector<std::int64_t> order_of(const Votes& votes, double margin = kNoMargin) const {
    const std::vector<std::int64_t> leaders = votes.leaders(margin);
    if (rule_ != RecallRule::oracle) return leaders;
    std::vector<std::int64_t> order = options_.chunks;
    for (const std::int64_t chunk : leaders)
      if (std::find(options_.chunks.begin(), options_.chunks.end(), chunk) == options_.chunks.end())
        order.push_back(chunk);
    return order;
  }

  RecallRule rule_;
  RecallOptions options_;
  std::vector<ScoredRows> scored_;       // [L], or
  std::optional<TwoLevelSearch> found_;  // where the search is in two levels
  std::vector<ScoredRows> recent_;       // [L], short-term rows; empty where they take no part
  Votes votes_;
  std::vector<std::int64_t> order_;
  std::vector<std::int64_t> turns_;  // chunks to be read one at a time; empty: all of order_ together
  std::size_t turn_ = 0;
  std::vector<std::vector<std::int64_t>> seen_;  // [L], births of the short-term rows among the K0
};

}  // namespace

std::unique_ptr<Recall> make_chunk_recall(RecallRule rule, RecallOptions options) {
  std::vector<std::int64_t> unique;  // a chunk named twice would give its rows twice
  for (const std::int64_t chunk : options.chunks)
    if (std::find(unique.begin(), unique.end(), chunk) == unique.end()) unique.push_back(chunk);
  options.chunks = std::move(unique);
  return std::make_unique<ChunkRecall>(rule, std::move(options));
}

}  // namespace mplus::memory
