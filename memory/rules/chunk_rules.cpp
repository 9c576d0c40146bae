// consensus, hybrid, words, oracle, vector: chunks in order, every layer takes its rows of the best.
#include <algorithm>

#include "mplus/core/error.h"
#include "mplus/memory/rules/rules.h"

namespace mplus::memory {
namespace {

class ChunkRecall final : public Recall {
 public:
  ChunkRecall(RecallRule rule, RecallOptions options) : rule_(rule), options_(std::move(options)) {}

  bool wants_scout() const override { return rule_ != RecallRule::words; }

  void plan(kernels::Context& context, const Memory& memory, std::span<const LayerQueries> scout,
            const Prior* prior) override {
    score(context, memory, scout);
    std::vector<LayerScores> views;
    for (const ScoredRows& rows : scored_) views.push_back(rows.scores);
    // Without scores every vote is 0, so a prior decides alone and its ties go to the older chunk.
    votes_ = vote(views, memory.layout().K, memory.updates() - 1, options_.vote, &context);
    if (rule_ == RecallRule::vector) votes_ = vector_votes(memory, scout);
    if (prior && rule_ == RecallRule::hybrid)
      votes_ = with_prior(std::move(votes_), *prior, options_.prior_weight);
    if (prior && rule_ == RecallRule::words) votes_ = with_prior(std::move(votes_), *prior, 1);
    order_ = votes_.order();
    if (rule_ == RecallRule::oracle) put_first(options_.chunks);
  }

  std::vector<RecalledRow> rows(kernels::Context&, const Memory& memory, std::int64_t layer,
                                const LayerQueries&) override {
    if (scored_.empty()) return {};  // not planned: there was nothing to recall
    const ScoredRows& scored = scored_.at(static_cast<std::size_t>(layer));
    return pick(scored, take_by_chunk(scored.scores, order_, memory.layout().K, memory.layout().K0));
  }

  const Votes* votes() const override { return &votes_; }
  std::span<const ScoredRows> scores() const override {
    return wants_scout() ? std::span<const ScoredRows>(scored_) : std::span<const ScoredRows>();
  }

 private:
  void score(kernels::Context& context, const Memory& memory, std::span<const LayerQueries> scout) {
    const auto layers = static_cast<std::size_t>(memory.layout().layers);
    MPLUS_CHECK(!wants_scout() || scout.size() == layers, "scouts of {} layers", scout.size());
    scored_.resize(layers);
    for (std::size_t l = 0; l < layers; ++l) {
      const auto layer = static_cast<std::int64_t>(l);
      scored_[l] =
          wants_scout() ? score_long_term(context, memory, layer, scout[l]) : list_long_term(memory, layer);
    }
  }

  void put_first(const std::vector<std::int64_t>& chunks) {
    std::vector<std::int64_t> order = chunks;
    for (const std::int64_t chunk : order_)
      if (std::find(chunks.begin(), chunks.end(), chunk) == chunks.end()) order.push_back(chunk);
    order_ = std::move(order);
  }

  RecallRule rule_;
  RecallOptions options_;
  std::vector<ScoredRows> scored_;  // [L]
  Votes votes_;
  std::vector<std::int64_t> order_;
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
