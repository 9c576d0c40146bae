// The best rows of one layer's store, chosen on the device that has their keys.
#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "mplus/core/error.h"
#include "mplus/core/tensors/memory_budget.h"
#include "mplus/kernels/backend.h"
#include "mplus/kernels/retrieval/best_scores.h"
#include "mplus/kernels/rows/outgoing.h"
#include "mplus/kernels/rows/rows.h"
#include "mplus/kernels/rows/transfer.h"
#include "mplus/memory/recall/scored_memory.h"
#include "mplus/memory/recall/search/stored_keys.h"

namespace mplus::memory {
namespace {

constexpr std::int64_t kMostEqual = 4096;  // rows with the score of the last that is taken

struct Candidate {
  std::int64_t birth = 0;
  std::int32_t place = 0;  // in the store's order
  float score = 0;
  RowId id = {};
};

// In order of key(x) ≥ 0, equals as they were: digit by digit, which for some thousands is several times as
// fast as comparing.
template <class T, class Key>
void sort_by(std::vector<T>& list, std::vector<T>& room, const Key& key) {
  constexpr int kBits = 11;
  constexpr std::uint64_t kDigits = std::uint64_t{1} << kBits;
  std::uint64_t all = 0;
  for (const T& x : list) all |= static_cast<std::uint64_t>(key(x));
  room.resize(list.size());
  for (int shift = 0; shift < 64 && all >> shift != 0; shift += kBits) {
    std::array<std::uint32_t, kDigits> begin{};
    const auto digit = [&](const T& x) {
      return static_cast<std::uint64_t>(key(x)) >> shift & (kDigits - 1);
    };
    for (const T& x : list) ++begin[digit(x)];
    std::uint32_t sum = 0;
    for (std::uint32_t& count : begin) sum += std::exchange(count, sum);
    for (const T& x : list) room[begin[digit(x)]++] = x;
    std::swap(list, room);
  }
}

// The rows at these places of a layer's store, in its order.
std::vector<Candidate> candidates(const Memory& memory, std::int64_t layer,
                                  std::span<const std::int32_t> places, const float* scores,
                                  std::vector<Candidate>& room) {
  std::vector<Candidate> rows(places.size());
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = {.place = places[i], .score = scores[i]};
  sort_by(rows, room, [](const Candidate& row) { return row.place; });
  std::int64_t begin = 0;
  std::uint32_t number = 0;
  auto row = rows.begin();
  for (const SegmentUse& use : memory.long_term().segments()) {
    const RowsView stored = use.rows(layer);
    for (; row != rows.end() && row->place < begin + stored.n; ++row) {
      row->id = {number, static_cast<std::uint32_t>(row->place - begin)};
      row->birth = stored.birth[row->id.row];
    }
    begin += stored.n;
    ++number;
  }
  return rows;
}

// The K0 best of these rows of a layer's store, ties older first, then in store order; by birth.
std::vector<RecalledRow> chosen(const Memory& memory, std::int64_t layer,
                                std::span<const std::int32_t> places, const float* scores) {
  std::vector<Candidate> room, rows = candidates(memory, layer, places, scores, room);
  if (const auto K0 = static_cast<std::size_t>(memory.layout().K0); rows.size() > K0) {
    const auto better = [](const Candidate& a, const Candidate& b) {
      if (a.score != b.score) return a.score > b.score;
      return a.birth != b.birth ? a.birth < b.birth : a.place < b.place;
    };
    std::nth_element(rows.begin(), rows.begin() + memory.layout().K0, rows.end(), better);
    rows.resize(K0);
    sort_by(rows, room, [](const Candidate& row) { return row.place; });
  }
  std::int64_t oldest = std::numeric_limits<std::int64_t>::max();
  for (const Candidate& row : rows) oldest = std::min(oldest, row.birth);
  sort_by(rows, room, [&](const Candidate& row) { return row.birth - oldest; });
  std::vector<RecalledRow> recalled;
  recalled.reserve(rows.size());
  for (const Candidate& row : rows) recalled.push_back({row.id, row.birth, row.score});
  return recalled;
}

// While what was chosen comes over, and after that, the device goes on.
void bring_meanwhile(kernels::Queue& queue, kernels::Outgoing& room, const LayerQueries& queries) {
  room.bring_aside(queue);
  try {
    if (queries.meanwhile) (*queries.meanwhile)();
  } catch (const Error&) {
    queue.wait_aside();  // what arrives late must not find its room given to others
    throw;
  }
  queue.wait_aside();
}

// Scores of a layer's store on the device, NaN where a row is gone; `marked`: room for one number. False: the
// device has no room for the keys.
bool score_there(kernels::Queue& queue, const Memory& memory, std::int64_t layer, const LayerQueries& queries,
                 const Tensor& scores, const Tensor& marked) {
  const auto stored = bring_keys(queue, memory, layer, scores);
  if (!stored) return false;
  const NearQueries q(queue, queries, memory.layout().retriever);
  kernels::retrieval_scores(queue, stored->plain, q.tensor());
  kernels::retrieval_scores(queue, stored->small, q.tensor());
  if (memory.long_term().expiry(layer) == Expiry{}) return true;
  const Buffer none = queue.backend().allocate(sizeof(std::int64_t));
  const kernels::ChunkSums sums{stored->parts, none.tensor(DType::i64, {0}), marked};
  kernels::chunk_sums(queue, {&sums, 1}, {.K = memory.layout().K});
  return true;
}

// The same made by the processor, which reads the keys where they lie.
void score_here(kernels::Queue& queue, const Memory& memory, std::int64_t layer, LayerQueries queries,
                const Tensor& scores) {
  std::vector<float> brought;
  if (!queries.retriever) {
    brought = kernels::to_host(queue, queries.there.rows(0, queries.T));
    queries.retriever = brought.data();
  }
  const ScoredRows scored = score_where_stored(queue, memory, layer, queries);
  kernels::copy(queue, scores, ConstTensor(scored.values.get(), DType::f32, {scores.elements()}));
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
  kernels::Outgoing room;
  using kernels::Outgoing;
  room.begin(queue, queue.host_pool(),
             Outgoing::piece_bytes(DType::i32, most) + Outgoing::piece_bytes(DType::f32, most) +
                 2 * Outgoing::piece_bytes(DType::i64, 1));
  const kernels::BestScores best{.places = room.piece(DType::i32, {most}),
                                 .values = room.piece(DType::f32, {most}),
                                 .count = room.piece(DType::i64, {1})};
  const Tensor marked = room.piece(DType::i64, {1});
  std::size_t spare = device_budget().spare();
  if (!keys_fit(queue, memory, layer, spare) || !score_there(queue, memory, layer, queries, scores, marked))
    score_here(queue, memory, layer, queries, scores);
  kernels::best_scores(queue, best, scores, K0);
  bring_meanwhile(queue, room, queries);
  const std::int64_t count = *room.on_host(best.count).on_host<std::int64_t>();
  if (count > most) return std::nullopt;
  return chosen(memory, layer,
                {room.on_host(best.places).on_host<std::int32_t>(), static_cast<std::size_t>(count)},
                room.on_host(best.values).on_host<float>());
}

}  // namespace mplus::memory
