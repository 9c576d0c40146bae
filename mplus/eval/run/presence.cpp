#include "mplus/eval/run/presence.h"

#include <algorithm>
#include <numeric>

namespace mplus::eval {
namespace {

// Every update held, none preferred: words alone will decide.
memory::Votes no_opinion(const memory::Memory& memory) {
  memory::Votes votes;
  for (std::int64_t chunk = 0; chunk < memory.updates(); ++chunk) votes.chunks.push_back(chunk);
  votes.votes.assign(votes.chunks.size(), 0.0);
  votes.held.assign(votes.chunks.size(), true);
  return votes;
}

class ObservedRecall final : public memory::Recall {
 public:
  ObservedRecall(std::unique_ptr<memory::Recall> inner, Observation& observation,
                 const memory::VoteOptions& options, bool over_everything)
      : inner_(std::move(inner)), seen_(observation), options_(options), over_everything_(over_everything) {}

  bool wants_scout() const override { return inner_->wants_scout(); }
  bool wants_queries() const override { return inner_->wants_queries(); }
  bool wants_attention() const override { return inner_->wants_attention(); }
  bool asks_on_device() const override { return inner_->asks_on_device(); }

  void plan(kernels::Queue& queue, const memory::Memory& memory, std::span<const memory::LayerQueries> scout,
            const memory::Prior* prior) override {
    inner_->plan(queue, memory, scout, prior);
    if (!seen_.want_rank || (scout.empty() && !prior)) return;
    const std::vector<std::int64_t> order = over_everything_ && inner_->found()
                                                ? inner_->found()->votes.order()
                                                : order_of(queue, memory, scout, prior);
    for (std::size_t i = 0; i < order.size() && seen_.rank == 0; ++i)
      if (seen_.is_gold(order[i])) seen_.rank = static_cast<std::int64_t>(i) + 1;
  }

  memory::LayerRecall rows(kernels::Queue& queue, const memory::Memory& memory, std::int64_t layer,
                           const memory::LayerQueries& queries) override {
    memory::LayerRecall recall = inner_->rows(queue, memory, layer, queries);
    births_.resize(static_cast<std::size_t>(memory.layout().remembering_layers()));
    std::vector<std::int64_t>& births =
        births_[static_cast<std::size_t>(memory.layout().remembering.place(layer))];
    births.clear();
    for (const memory::RecalledRow& row : recall.rows) births.push_back(row.birth);
    seen_.count(births_, memory.layout().K);
    return recall;
  }

  memory::FoundChunks* found() override { return inner_->found(); }

 private:
  std::vector<std::int64_t> order_of(kernels::Queue& queue, const memory::Memory& memory,
                                     std::span<const memory::LayerQueries> scout,
                                     const memory::Prior* prior) const {
    memory::Votes votes = scout.empty()
                              ? no_opinion(memory)
                              : memory::vote_over_everything(queue, memory, scout, options_, scores());
    if (prior) votes = memory::with_prior(std::move(votes), *prior, 1);
    return votes.order();
  }

  std::span<const memory::ScoredRows> scores() const {
    return inner_->found() ? inner_->found()->scores : std::span<const memory::ScoredRows>();
  }

  std::unique_ptr<memory::Recall> inner_;
  Observation& seen_;
  memory::VoteOptions options_;
  bool over_everything_;
  std::vector<std::vector<std::int64_t>> births_;  // [layers that keep a memory]
};

}  // namespace

Presence::Presence(const memory::Memory& memory)
    : whole_(static_cast<double>(memory.layout().K * memory.layout().remembering_layers())),
      short_term_(static_cast<std::size_t>(memory.updates()), 0),
      long_term_(static_cast<std::size_t>(memory.updates()), 0) {
  const std::int64_t K = memory.layout().K;
  const auto count = [&](std::vector<std::int64_t>& rows, std::int64_t birth) {
    const std::int64_t update = memory::chunk_of(birth, K);
    if (update >= 0 && update < static_cast<std::int64_t>(rows.size()))
      ++rows[static_cast<std::size_t>(update)];
  };
  for (std::int64_t l = 0; l < memory.layout().layers; ++l) {
    const memory::RowsView slots = memory.short_term(l);
    for (std::int64_t r = 0; r < slots.n; ++r) count(short_term_, slots.birth[r]);
    memory.long_term().for_each(l, [&](memory::RowId, std::int64_t birth) { count(long_term_, birth); });
  }
}

Presence::Share Presence::of(std::span<const std::int64_t> updates) const {
  Share share;
  for (std::int64_t u : updates) {
    share.short_term += static_cast<double>(short_term_.at(static_cast<std::size_t>(u)));
    share.long_term += static_cast<double>(long_term_.at(static_cast<std::size_t>(u)));
  }
  const double rows = whole_ * static_cast<double>(std::max<std::size_t>(1, updates.size()));
  share.short_term /= rows;
  share.long_term /= rows;
  return share;
}

bool Observation::is_gold(std::int64_t chunk) const {
  return std::find(gold.begin(), gold.end(), chunk) != gold.end();
}

void Observation::count(const std::vector<std::vector<std::int64_t>>& recalled_births, std::int64_t K) {
  recalled.assign(recalled_births.size(), 0.0);
  if (gold.empty()) return;
  for (std::size_t l = 0; l < recalled.size(); ++l) {
    const auto n = std::count_if(recalled_births[l].begin(), recalled_births[l].end(),
                                 [&](std::int64_t birth) { return is_gold(memory::chunk_of(birth, K)); });
    recalled[l] = static_cast<double>(n) / static_cast<double>(K * static_cast<std::int64_t>(gold.size()));
  }
}

double Observation::recalled_mean() const {
  return recalled.empty()
             ? 0.0
             : std::accumulate(recalled.begin(), recalled.end(), 0.0) / static_cast<double>(recalled.size());
}

std::unique_ptr<memory::Recall> observe(std::unique_ptr<memory::Recall> inner, Observation& observation,
                                        const memory::VoteOptions& options, bool over_everything) {
  return std::make_unique<ObservedRecall>(std::move(inner), observation, options, over_everything);
}

}  // namespace mplus::eval
