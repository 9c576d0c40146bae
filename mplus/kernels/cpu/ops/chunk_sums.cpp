#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "mplus/kernels/cpu/ops/operations.h"
#include "mplus/kernels/parallel.h"

namespace mplus::kernels::cpu {
namespace {

bool is_there(const ScorePart& part, std::int64_t birth, std::int64_t row) {
  if (birth == kNoBirth || birth < part.oldest_birth) return false;
  return birth > part.oldest_birth || part.first_number + row >= part.oldest_number;
}

// f(chunk, score) for every row that counts, with the number of chunks for those that are of none.
template <class F>
void for_rows(const ChunkSums& layer, const ChunkRule& rule, F&& f) {
  for (const ScorePart& part : layer.parts) {
    const std::int64_t* births = part.births.on_host<std::int64_t>();
    const float* scores = part.scores.on_host<float>();
    for (std::int64_t r = 0; r < part.scores.elements(); ++r) {
      if (!is_there(part, births[r], r) || std::isnan(scores[r])) continue;
      const bool known = births[r] >= 0 && births[r] / rule.K < rule.chunks;
      f(known ? births[r] / rule.K : rule.chunks, scores[r]);
    }
  }
}

void mark(const ScorePart& part) {
  const std::int64_t* births = part.births.on_host<std::int64_t>();
  float* scores = part.scores.on_host<float>();
  for (std::int64_t r = 0; r < part.scores.elements(); ++r)
    if (!is_there(part, births[r], r)) scores[r] = std::numeric_limits<float>::quiet_NaN();
}

void sum_all(const ChunkSums& layer, const ChunkRule& rule) {
  std::int64_t *sums = layer.sums.on_host<std::int64_t>(), *rows = layer.rows.on_host<std::int64_t>();
  for_rows(layer, rule, [&](std::int64_t chunk, float score) {
    ++rows[chunk];
    if (chunk < rule.chunks) sums[chunk] += score_units(score);
  });
}

void sum_best(const ChunkSums& layer, const ChunkRule& rule) {
  std::int64_t *sums = layer.sums.on_host<std::int64_t>(), *rows = layer.rows.on_host<std::int64_t>();
  for_rows(layer, rule, [&](std::int64_t chunk, float) { ++rows[chunk]; });
  std::vector<std::int64_t> end(static_cast<std::size_t>(rule.chunks) + 1, 0);
  std::partial_sum(rows, rows + rule.chunks, end.begin() + 1);
  std::vector<std::int64_t> units(static_cast<std::size_t>(end.back()));
  for_rows(layer, rule, [&](std::int64_t chunk, float score) {
    if (chunk < rule.chunks)
      units[static_cast<std::size_t>(end[static_cast<std::size_t>(chunk)]++)] = score_units(score);
  });
  auto begin = units.begin();
  for (std::int64_t chunk = 0; chunk < rule.chunks; ++chunk) {
    const auto behind = begin + rows[chunk];
    rows[chunk] = std::min(rows[chunk], rule.top);
    const auto last = begin + rows[chunk];
    if (last < behind) std::nth_element(begin, last, behind, std::greater<>());
    sums[chunk] = std::accumulate(begin, last, std::int64_t{0});
    begin = behind;
  }
}

}  // namespace

void chunk_sums(Queue& queue, std::span<const ChunkSums> layers, const ChunkRule& rule) {
  std::int64_t n = 0;
  for (const ChunkSums& layer : layers)
    for (const ScorePart& part : layer.parts) n += part.scores.elements();
  parallel(queue, std::ssize(layers), n, [&](std::int64_t l, int) {
    const ChunkSums& layer = layers[static_cast<std::size_t>(l)];
    for (const ScorePart& part : layer.parts) mark(part);
    std::fill_n(layer.sums.on_host<std::int64_t>(), rule.chunks, 0);
    std::fill_n(layer.rows.on_host<std::int64_t>(), rule.chunks + 1, 0);
    rule.top > 0 ? sum_best(layer, rule) : sum_all(layer, rule);
  });
}

}  // namespace mplus::kernels::cpu
