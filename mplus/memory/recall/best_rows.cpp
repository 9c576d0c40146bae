// The best rows of one layer's store, chosen on the device that has their keys.
#include <algorithm>

#include "mplus/kernels/backend.h"
#include "mplus/kernels/best_scores.h"
#include "mplus/kernels/outgoing.h"
#include "mplus/memory/recall/scored_memory.h"
#include "mplus/memory/recall/stored_keys.h"

namespace mplus::memory {
namespace {

constexpr std::int64_t kMostEqual = 4096;  // rows with the score of the last that is taken

// Rows of a layer by their place among all that its segments have.
class SegmentsByPlace {
 public:
  SegmentsByPlace(const Memory& memory, std::int64_t layer) {
    std::int64_t begin = 0;
    for (const SegmentUse& use : memory.long_term().segments()) {
      const RowsView rows = use.rows(layer);
      const auto number = static_cast<std::uint32_t>(segments_.size());
      segments_.push_back({begin, begin + rows.n, rows.birth});
      begin += rows.n;
      first_.resize(static_cast<std::size_t>((begin + kBlock - 1) / kBlock), number);
    }
  }

  RowId row(std::int64_t place) const {
    std::uint32_t s = first_[static_cast<std::size_t>(place / kBlock)];
    while (place >= segments_[s].end) ++s;
    return {s, static_cast<std::uint32_t>(place - segments_[s].begin)};
  }
  std::int64_t birth(RowId id) const { return segments_[id.segment].births[id.row]; }

 private:
  static constexpr std::int64_t kBlock = 256;
  struct Place {
    std::int64_t begin, end;
    const std::int64_t* births;
  };
  std::vector<Place> segments_;
  std::vector<std::uint32_t> first_;  // the segment of every kBlock-th place
};

struct Candidate {
  std::int64_t birth;
  std::int32_t place;  // in the store's order
  float score;
};

// The K0 best of these rows of a layer's store, ties older first, then in store order; by birth.
std::vector<RecalledRow> chosen(const Memory& memory, std::int64_t layer,
                                std::span<const std::int32_t> places, const float* scores) {
  const SegmentsByPlace segments(memory, layer);
  std::vector<Candidate> rows;
  rows.reserve(places.size());
  for (std::size_t i = 0; i < places.size(); ++i)
    rows.push_back({segments.birth(segments.row(places[i])), places[i], scores[i]});
  const auto older = [](const Candidate& a, const Candidate& b) {
    return a.birth != b.birth ? a.birth < b.birth : a.place < b.place;
  };
  if (const auto K0 = static_cast<std::size_t>(memory.layout().K0); rows.size() > K0) {
    const auto better = [&](const Candidate& a, const Candidate& b) {
      return a.score != b.score ? a.score > b.score : older(a, b);
    };
    std::nth_element(rows.begin(), rows.begin() + memory.layout().K0, rows.end(), better);
    rows.resize(K0);
  }
  std::sort(rows.begin(), rows.end(), older);
  std::vector<RecalledRow> recalled;
  recalled.reserve(rows.size());
  for (const Candidate& row : rows) recalled.push_back({segments.row(row.place), row.birth, row.score});
  return recalled;
}

}  // namespace

std::optional<std::vector<RecalledRow>> best_on_device(kernels::Queue& queue, const Memory& memory,
                                                       std::int64_t layer, const LayerQueries& queries) {
  const std::int64_t n = stored_rows(memory, layer), K0 = memory.layout().K0;
  const bool asked = queries.T > 0 && (queries.retriever != nullptr || !queries.there.empty());
  if (queue.device().is_cpu() || n == 0 || K0 == 0 || !asked) return std::nullopt;
  const std::int64_t most = K0 + kMostEqual;
  const Buffer memory_of_scores = queue.backend().allocate(row_bytes(DType::f32, n));
  const Tensor scores = memory_of_scores.tensor(DType::f32, {n});
  const auto stored = bring_keys(queue, memory, layer, scores);
  if (!stored) return std::nullopt;
  const NearQueries q(queue, queries, memory.layout().retriever);
  kernels::retrieval_scores(queue, stored->plain, q.tensor());
  kernels::retrieval_scores(queue, stored->small, q.tensor());
  kernels::Outgoing room;
  using kernels::Outgoing;
  room.begin(queue, queue.host_pool(),
             Outgoing::piece_bytes(DType::i32, most) + Outgoing::piece_bytes(DType::f32, most) +
                 2 * Outgoing::piece_bytes(DType::i64, 1));
  const kernels::BestScores best{.places = room.piece(DType::i32, {most}),
                                 .values = room.piece(DType::f32, {most}),
                                 .count = room.piece(DType::i64, {1})};
  if (memory.long_term().expiry(layer) != Expiry{}) {  // rows that are gone are marked
    const Buffer none = queue.backend().allocate(sizeof(std::int64_t));
    const kernels::ChunkSums marked{stored->parts, none.tensor(DType::i64, {0}), room.piece(DType::i64, {1})};
    kernels::chunk_sums(queue, {&marked, 1}, {.K = memory.layout().K});
  }
  kernels::best_scores(queue, best, scores, K0);
  room.bring(queue);
  queue.wait();
  const std::int64_t count = *room.on_host(best.count).on_host<std::int64_t>();
  if (count > most) return std::nullopt;
  return chosen(memory, layer,
                {room.on_host(best.places).on_host<std::int32_t>(), static_cast<std::size_t>(count)},
                room.on_host(best.values).on_host<float>());
}

}  // namespace mplus::memory
