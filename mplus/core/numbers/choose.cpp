#include "mplus/core/numbers/choose.h"

#include <algorithm>
#include <cmath>

namespace mplus {
namespace {

using Candidate = ChoiceRoom::Candidate;

bool goes_first(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

// The upper 64 bits of a product of 128.
std::uint64_t upper_half(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t a0 = a & 0xffffffffu, a1 = a >> 32, b0 = b & 0xffffffffu, b1 = b >> 32;
  const std::uint64_t middle = a1 * b0 + ((a0 * b0) >> 32);
  const std::uint64_t other = a0 * b1 + (middle & 0xffffffffu);
  return a1 * b1 + (middle >> 32) + (other >> 32);
}

// Of the first of the largest numbers; NaN is none, where there is another. A block's maximum needs no
// branch.
std::size_t place_of_largest(std::span<const float> x) {
  constexpr std::size_t kBlock = 256, kChains = 16;
  std::size_t begin = 0;  // of the first block that has it
  while (begin < x.size() && std::isnan(x[begin])) ++begin;
  if (begin == x.size()) return 0;
  float most = x[begin];
  for (std::size_t at = begin; at < x.size(); at += kBlock) {
    const std::span<const float> block = x.subspan(at, std::min(kBlock, x.size() - at));
    float chains[kChains];
    std::fill_n(chains, kChains, most);
    std::size_t i = 0;
    for (; i + kChains <= block.size(); i += kChains)
      for (std::size_t c = 0; c < kChains; ++c) chains[c] = std::max(chains[c], block[i + c]);
    for (; i < block.size(); ++i) chains[0] = std::max(chains[0], block[i]);
    const float of_block = *std::max_element(chains, chains + kChains);
    if (of_block > most) most = of_block, begin = at;
  }
  return static_cast<std::size_t>(std::find(x.begin() + static_cast<std::ptrdiff_t>(begin), x.end(), most) -
                                  x.begin());
}

std::uint64_t odds_together(std::span<const Candidate> candidates) {
  std::uint64_t total = 0;
  for (const Candidate& candidate : candidates) total += candidate.odds;
  return total;
}

// Only the first that have these odds together stay. Sorts no more than it looks at.
void keep_first(std::vector<Candidate>& candidates, std::uint64_t wanted) {
  std::size_t n = 0, sorted = 0;
  std::uint64_t sum = 0;
  for (; n < candidates.size() && sum < wanted; ++n) {
    if (n == sorted) {
      const auto begin = candidates.begin() + static_cast<std::ptrdiff_t>(sorted);
      sorted = std::min(candidates.size(), std::max<std::size_t>(64, sorted * 8));
      const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(sorted);
      if (end != candidates.end()) std::nth_element(begin, end, candidates.end(), goes_first);
      std::sort(begin, end, goes_first);
    }
    sum += candidates[n].odds;
  }
  candidates.resize(n);
}

std::int64_t draw(std::vector<Candidate>& candidates, const Choice& choice) {
  bool moved = false;
  if (choice.top_k > 0 && choice.top_k < std::ssize(candidates)) {
    std::nth_element(candidates.begin(), candidates.begin() + choice.top_k, candidates.end(), goes_first);
    candidates.resize(static_cast<std::size_t>(choice.top_k));
    moved = true;
  }
  std::uint64_t total = odds_together(candidates);
  if (choice.top_p < 1.0f) {
    keep_first(candidates, share_of_odds(choice.top_p, total));
    total = odds_together(candidates);
    moved = true;
  }
  if (moved) std::ranges::sort(candidates, {}, &Candidate::id);
  std::uint64_t left = upper_half(choice.chance, total);
  for (const Candidate& candidate : candidates) {
    if (left < candidate.odds) return candidate.id;
    left -= candidate.odds;
  }
  return candidates.back().id;
}

}  // namespace

ChoiceNumbers::ChoiceNumbers(const Choice& choice)
    : octaves(std::min(1e30f, 1.44269504088896f / choice.temperature)),
      least(std::max<std::uint64_t>(1, static_cast<std::uint64_t>(choice.min_p * 0x1p40f))) {}

void edit(std::span<float> logits, std::span<const LogitEdit> edits) {
  for (const LogitEdit& one : edits) {
    float& logit = logits[static_cast<std::size_t>(one.id)];
    logit = edited(logit, one);
  }
}

std::int64_t choose(std::span<const float> logits, const Choice& choice, ChoiceRoom& room) {
  const std::size_t best = place_of_largest(logits);
  if (!(choice.temperature > 0.0f) || !std::isfinite(logits[best])) return static_cast<std::int64_t>(best);
  const ChoiceNumbers numbers(choice);
  room.candidates.clear();
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const std::uint64_t odds = odds_of(logits[i] - logits[best], numbers.octaves);
    if (odds >= numbers.least) room.candidates.push_back({odds, logits[i], static_cast<std::int32_t>(i)});
  }
  return draw(room.candidates, choice);
}

}  // namespace mplus
