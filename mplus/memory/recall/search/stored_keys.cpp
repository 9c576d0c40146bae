#include "mplus/memory/recall/search/stored_keys.h"

namespace mplus::memory {

std::int64_t stored_rows(const Memory& memory, std::int64_t layer) {
  std::int64_t n = 0;
  for (const SegmentUse& use : memory.long_term().segments()) n += use.rows(layer).n;
  return n;
}

std::vector<ScorePiece> long_term_pieces(const Memory& memory, std::int64_t layer, const float* scores) {
  std::vector<ScorePiece> pieces;
  for (const SegmentUse& use : memory.long_term().segments()) {
    const RowsView view = use.rows(layer);
    const auto n = static_cast<std::size_t>(view.n);
    pieces.push_back({{view.birth, n}, {scores, n}});
    scores += n;
  }
  return pieces;
}

bool keys_fit(const kernels::Queue& queue, const Memory& memory, std::int64_t layer, std::size_t& spare) {
  for (const SegmentUse& use : memory.long_term().segments()) {
    const RowsView rows = use.rows(layer);
    if (rows.n == 0) continue;
    const std::size_t wanted = use.segment->resident_keys(layer).room(queue, key_rows(rows, memory.layout()),
                                                                      use.segment->rows(layer).n);
    if (wanted > spare) return false;
    spare -= wanted;
  }
  return true;
}

std::optional<StoredKeys> bring_keys(kernels::Queue& queue, const Memory& memory, std::int64_t layer,
                                     const Tensor& scores) {
  StoredKeys stored;
  const LongTermStore& store = memory.long_term();
  std::int64_t at = 0;
  for (const SegmentUse& use : store.segments()) {
    use.segment->touch(layer, SegmentPart::retriever_keys);
    const RowsView rows = use.rows(layer);
    if (rows.n == 0) continue;
    const ResidentKeys::There there = use.segment->resident_keys(layer).bring(
        queue, key_rows(rows, memory.layout()), rows.birth, use.segment->rows(layer).n);
    if (there.keys.empty()) return std::nullopt;
    const Tensor some = scores.rows(at, rows.n);
    (rows.format == RowFormat::plain ? stored.plain : stored.small).push_back({there.keys, some});
    stored.parts.push_back({.scores = some,
                            .births = there.births,
                            .first_number = use.first_ordinal[static_cast<std::size_t>(layer)],
                            .oldest_birth = store.expiry(layer).birth,
                            .oldest_number = store.expiry(layer).ordinal});
    at += rows.n;
  }
  return stored;
}

NearQueries::NearQueries(kernels::Queue& queue, const LayerQueries& asked, std::int64_t d_r) {
  if (!asked.there.empty() && asked.there.device == queue.device()) {
    tensor_ = asked.there.rows(0, asked.T);
    return;
  }
  uploaded_.emplace(queue, asked.retriever_rows(d_r));
  tensor_ = uploaded_->tensor();
}

}  // namespace mplus::memory
