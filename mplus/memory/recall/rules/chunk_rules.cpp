// consensus, hybrid, words, oracle, vector: chunks in order, every layer takes its rows of the best.
#include <algorithm>
#include <functional>
#include <optional>

#include "mplus/core/error.h"
#include "mplus/memory/recall/rules/rules.h"
#include "mplus/memory/recall/scored_memory.h"

namespace mplus::memory {
namespace {

class ChunkRecall final : public Recall {
 public:
  ChunkRecall(const RecallPolicy& policy, RecallInput input)
      : policy_(policy), given_(std::move(input.chunks)) {
    vote_.layer_weights = std::move(input.layer_weights);
    vote_.top = policy.vote_top;
    found_.attempts = Attempts(policy.read_over == ReadOver::attempts && input.window_first);
  }

  bool wants_scout() const override { return policy_.rule != RecallRule::words; }
  bool wants_queries() const override { return false; }

  void plan(kernels::Queue& queue, const Memory& memory, std::span<const LayerQueries> scout,
            const Prior* prior) override {
    MPLUS_CHECK(!wants_scout() || std::ssize(scout) == memory.layout().layers, "scouts of {} layers",
                scout.size());
    taken_.clear();
    const bool two_levels =
        policy_.rule != RecallRule::vector && in_two_levels(queue, memory, policy_.search);
    if (!two_levels && plan_on_device(queue, memory, scout, prior)) return;
    score_recent(queue, memory, scout);
    if (two_levels) {
      std::vector<LayerScores> recent;
      for (const ScoredRows& rows : recent_) recent.push_back(rows.scores);
      search_.emplace(queue, memory, scout, vote_, recent);
      search_->run(policy_.search, [&](const Votes& votes) { return order_of(with_words(votes, prior)); });
      found_.votes = with_words(search_->votes(), prior);
    } else {
      score(queue, memory, scout);
      found_.votes = with_words(votes_on_all(queue, memory, scout), prior);
      if (wants_scout()) found_.scores = scored_;
    }
    put_in_order();
  }

  LayerRecall rows(kernels::Queue& queue, const Memory& memory, std::int64_t layer,
                   const LayerQueries&) override {
    if (found_.attempts.window_alone()) return {{}, std::vector<std::int64_t>()};
    if (!search_ && scored_.empty()) return {};  // not planned: there was nothing to recall
    const Attempts::Attempt* attempt = found_.attempts.chunk();
    if (taken_.empty() || taken_for_ != attempt) {
      taken_.resize(static_cast<std::size_t>(memory.layout().layers));
      queue.pool().run(memory.layout().layers,
                       [&](std::int64_t l, int) { taken_[static_cast<std::size_t>(l)] = take(memory, l); });
      taken_for_ = attempt;
    }
    return taken_[static_cast<std::size_t>(layer)];
  }

  FoundChunks* found() override { return &found_; }

 private:
  // Scores and votes of all layers where the keys lie. False: they do not, or there is nothing to score with.
  bool plan_on_device(kernels::Queue& queue, const Memory& memory, std::span<const LayerQueries> scout,
                      const Prior* prior) {
    if (!wants_scout() || policy_.rule == RecallRule::vector) return false;
    auto scored =
        score_on_device(queue, memory, scout, {.short_term = policy_.over_everything, .top = vote_.top});
    if (!scored) return false;
    scored_ = std::move(scored->long_term);
    recent_ = std::move(scored->short_term);
    found_.scores = scored_;
    found_.votes =
        with_words(scored->chunks.empty() ? votes_on_all(queue, memory, scout)
                                          : vote_of_chunks(memory, std::move(scored->chunks), vote_),
                   prior);
    put_in_order();
    return true;
  }

  void put_in_order() {
    order_ = order_of(found_.votes, policy_.margin);
    if (policy_.read_over == ReadOver::attempts && !recent_.empty()) found_.attempts.take(attempts());
  }

  // A layer's rows, for the attempt that is next, or for all at once.
  LayerRecall take(const Memory& memory, std::int64_t layer) const {
    const Attempts::Attempt* attempt = found_.attempts.chunk();
    const std::span<const std::int64_t> order = attempt ? std::span(&attempt->chunk, 1) : std::span(order_);
    std::vector<std::int64_t> seen;
    LayerRecall recall{
        search_ ? search_->rows(layer, order, &seen) : taken(memory.layout(), layer, order, seen), {}};
    if (policy_.read_over != ReadOver::everything && !recent_.empty()) recall.short_term = std::move(seen);
    return recall;
  }

  // `seen` gets the births of the short-term rows among them. Long-term rows are numbered first.
  std::vector<RecalledRow> taken(const Layout& layout, std::int64_t layer,
                                 std::span<const std::int64_t> order, std::vector<std::int64_t>& seen) const {
    const auto l = static_cast<std::size_t>(layer);
    const std::int64_t stored = scored_.at(l).rows();
    std::vector<std::int64_t> recalled;
    for (const std::int64_t row : take_by_chunk(rows_of(layer), order, layout.K, layout.K0)) {
      if (row < stored) recalled.push_back(row);
      else seen.push_back(recent_[l].scores.pieces.front().births[static_cast<std::size_t>(row - stored)]);
    }
    return pick(scored_[l], recalled);
  }

  // Given chunks as they were given, then those that come first by vote, the newest first: of two that say
  // different things about the same, the newer is right.
  std::vector<Attempts::Attempt> attempts() const {
    const std::ptrdiff_t n = std::min(std::ssize(order_), policy_.attempts);
    const std::ptrdiff_t given = policy_.rule == RecallRule::oracle ? std::min(std::ssize(given_), n) : 0;
    std::vector<Attempts::Attempt> attempts;
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      const std::int64_t chunk = order_[static_cast<std::size_t>(i)];
      attempts.push_back({chunk, i < given ? 0 : found_.votes.behind(chunk)});
    }
    std::sort(attempts.begin() + given, attempts.end(),
              [](const auto& a, const auto& b) { return a.chunk > b.chunk; });
    return attempts;
  }

  void score_recent(kernels::Queue& queue, const Memory& memory, std::span<const LayerQueries> scout) {
    if (!policy_.over_everything || policy_.rule == RecallRule::vector) return;
    for (std::int64_t l = 0; l < memory.layout().layers; ++l)
      recent_.push_back(wants_scout() ? score_short_term(queue, memory, l, scout[static_cast<std::size_t>(l)])
                                      : list_short_term(memory, l));
  }

  // Those that take part, long-term rows first.
  LayerScores rows_of(std::int64_t layer) const {
    const auto l = static_cast<std::size_t>(layer);
    return recent_.empty() ? scored_[l].scores : joined(scored_[l], recent_[l]);
  }

  void score(kernels::Queue& queue, const Memory& memory, std::span<const LayerQueries> scout) {
    scored_.resize(static_cast<std::size_t>(memory.layout().layers));
    for (std::size_t l = 0; l < scored_.size(); ++l) {
      const auto layer = static_cast<std::int64_t>(l);
      scored_[l] =
          wants_scout() ? score_long_term(queue, memory, layer, scout[l]) : list_long_term(memory, layer);
    }
  }

  Votes votes_on_all(kernels::Queue& queue, const Memory& memory, std::span<const LayerQueries> scout) const {
    if (policy_.rule == RecallRule::vector) return vector_votes(memory, scout);
    std::vector<LayerScores> views;
    for (std::int64_t l = 0; l < memory.layout().layers; ++l) views.push_back(rows_of(l));
    return vote(views, memory.layout().K, memory.updates() - 1, vote_, &queue);
  }

  // Under `words` every vote is 0, so the prior decides alone and its ties go to the older chunk.
  Votes with_words(Votes votes, const Prior* prior) const {
    if (prior && policy_.rule == RecallRule::hybrid)
      return with_prior(std::move(votes), *prior, policy_.words_weight);
    if (prior && policy_.rule == RecallRule::words) return with_prior(std::move(votes), *prior, 1);
    return votes;
  }

  std::vector<std::int64_t> order_of(const Votes& votes, double margin = kNoMargin) const {
    std::vector<std::int64_t> leaders = votes.leaders(margin);
    if (policy_.rule != RecallRule::oracle) return leaders;
    std::vector<std::int64_t> order = given_;
    for (const std::int64_t chunk : leaders)
      if (std::find(given_.begin(), given_.end(), chunk) == given_.end()) order.push_back(chunk);
    return order;
  }

  RecallPolicy policy_;
  VoteOptions vote_;
  std::vector<std::int64_t> given_;       // chunks of oracle
  std::vector<ScoredRows> scored_;        // [L], or
  std::optional<TwoLevelSearch> search_;  // where it is in two levels
  std::vector<ScoredRows> recent_;        // [L], short-term rows; empty where they take no part
  FoundChunks found_;
  std::vector<std::int64_t> order_;
  std::vector<LayerRecall> taken_;  // [L], of all layers at once: each is a look at every row
  const Attempts::Attempt* taken_for_ = nullptr;
};

}  // namespace

std::unique_ptr<Recall> make_chunk_recall(const RecallPolicy& policy, RecallInput input) {
  std::vector<std::int64_t> unique;  // a chunk named twice would give its rows twice
  for (const std::int64_t chunk : input.chunks)
    if (std::find(unique.begin(), unique.end(), chunk) == unique.end()) unique.push_back(chunk);
  input.chunks = std::move(unique);
  return std::make_unique<ChunkRecall>(policy, std::move(input));
}

}  // namespace mplus::memory
