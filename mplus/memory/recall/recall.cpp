#include "mplus/memory/recall/recall.h"

#include <algorithm>

#include "mplus/core/error.h"
#include "mplus/kernels/parallel.h"
#include "mplus/memory/recall/rules/rules.h"

namespace mplus::memory {
namespace {

class NoRecall final : public Recall {
 public:
  bool wants_queries() const override { return false; }
  LayerRecall rows(kernels::Queue&, const Memory&, std::int64_t, const LayerQueries&) override { return {}; }
};

}  // namespace

void expand_rows(kernels::Queue& queue, const Memory& memory, std::int64_t layer,
                 std::span<const RecalledRow> rows, Tensor k, Tensor v) {
  const Layout& layout = memory.layout();
  for (const RecalledRow& row : rows) memory.long_term().rows_of(layer, row.id);  // may throw
  kernels::parallel_ranges(queue, std::ssize(rows), 4 * layout.kv, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const RowId id = rows[static_cast<std::size_t>(r)].id;
      const RowsView view = memory.long_term().segments()[id.segment].rows(layer);
      view.expand_k(layout, k.row(r).on_host<float>(), id.row);
      view.expand_v(layout, v.row(r).on_host<float>(), id.row);
    }
  });
}

void Recall::plan(kernels::Queue&, const Memory&, std::span<const LayerQueries>, const Prior*) {}

std::vector<RecalledRow> pick(const ScoredRows& scored, std::span<const std::int64_t> numbers) {
  std::vector<std::int64_t> ends;  // of the pieces
  for (const ScorePiece& piece : scored.scores.pieces)
    ends.push_back((ends.empty() ? 0 : ends.back()) + std::ssize(piece.births));
  std::vector<RecalledRow> rows;
  rows.reserve(numbers.size());
  for (const std::int64_t row : numbers) {
    const auto piece = std::upper_bound(ends.begin(), ends.end(), row) - ends.begin();
    const std::int64_t first = piece == 0 ? 0 : ends[static_cast<std::size_t>(piece) - 1];
    const RowId id{static_cast<std::uint32_t>(piece), static_cast<std::uint32_t>(row - first)};
    rows.push_back({id, scored.birth(id), scored.score(id)});
  }
  return rows;
}

std::unique_ptr<Recall> make_recall(const RecallPolicy& policy, RecallInput input) {
  switch (policy.rule) {
    case RecallRule::none:
      return std::make_unique<NoRecall>();
    case RecallRule::per_layer:
    case RecallRule::random:
    case RecallRule::attention:
      return make_row_recall(policy.rule, input.seed);
    case RecallRule::consensus:
    case RecallRule::hybrid:
    case RecallRule::words:
    case RecallRule::oracle:
    case RecallRule::vector:
      return make_chunk_recall(policy, std::move(input));
  }
  MPLUS_CHECK(false, "recall rule {}", static_cast<int>(policy.rule));
}

}  // namespace mplus::memory
