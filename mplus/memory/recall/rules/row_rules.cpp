// per-layer, random, attention: every layer takes K0 rows for itself.
#include <utility>

#include "mplus/core/numbers/philox.h"
#include "mplus/kernels/rows/transfer.h"
#include "mplus/memory/recall/rules/rules.h"
#include "mplus/memory/recall/scored_memory.h"

namespace mplus::memory {
namespace {

class RowRecall final : public Recall {
 public:
  RowRecall(RecallRule rule, std::uint64_t seed) : rule_(rule), seed_(seed) {}

  bool wants_attention() const override { return rule_ == RecallRule::attention; }
  bool asks_on_device() const override { return rule_ == RecallRule::per_layer; }
  LayerRecall rows(kernels::Queue& queue, const Memory& memory, std::int64_t layer,
                   const LayerQueries& queries) override {
    if (rule_ == RecallRule::random) return {drawn(memory, layer), {}};
    if (rule_ == RecallRule::per_layer)
      if (auto best = best_on_device(queue, memory, layer, queries)) return {std::move(*best), {}};
    LayerQueries here = queries;
    std::vector<float> brought;
    if (!here.retriever && !here.there.empty()) {
      brought = kernels::to_host(queue, here.there.rows(0, here.T));
      here.retriever = brought.data();
    }
    const ScoredRows scored = rule_ == RecallRule::attention ? attention_long_term(memory, layer, here)
                                                             : score_long_term(queue, memory, layer, here);
    return {pick(scored, take_best(scored.scores, memory.layout().K0)), {}};
  }

 private:
  // A row's lot follows from its birth, not from its place: the draw is the same however the store lies. 24
  // bits are what a score holds; ties go to the older row.
  std::vector<RecalledRow> drawn(const Memory& memory, std::int64_t layer) const {
    ScoredRows rows = list_long_term(memory, layer);
    float* lot = rows.values.get();
    for (const ScorePiece& piece : rows.scores.pieces)
      for (const std::int64_t b : piece.births) {
        const auto birth = static_cast<std::uint64_t>(b);
        const std::uint64_t bits =
            random_bits(seed_, RandomStream::recall, static_cast<std::uint32_t>(birth),
                        static_cast<std::uint32_t>(layer), static_cast<std::uint32_t>(birth >> 32));
        *lot++ += static_cast<float>(bits >> 40);  // NaN stays NaN: a row that has expired
      }
    std::vector<RecalledRow> taken = pick(rows, take_best(rows.scores, memory.layout().K0));
    for (RecalledRow& row : taken) row.score = 0;  // chance is no opinion
    return taken;
  }

  RecallRule rule_;
  std::uint64_t seed_;
};

}  // namespace

std::unique_ptr<Recall> make_row_recall(RecallRule rule, std::uint64_t seed) {
  return std::make_unique<RowRecall>(rule, seed);
}

}  // namespace mplus::memory
