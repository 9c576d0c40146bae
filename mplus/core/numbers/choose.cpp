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

// Of the first candidates that weigh `wanted` together, the last; null where all weigh less.
template <class Weight>
const Candidate* last_of_first(ChoiceRoom& room, std::uint64_t wanted, const Weight& weight) {
  std::vector<Candidate>& some = room.sought;
  float best = room.candidates.front().logit;
  for (const Candidate& candidate : room.candidates) best = std::max(best, candidate.logit);
  const auto weight_of = [&](std::size_t begin, std::size_t end) {
    std::uint64_t sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += weight(some[i]);
    return sum;
  };
  // Mostly it is among the likeliest.
  for (const std::uint64_t least : {kBestOdds >> 6, kBestOdds >> 16, std::uint64_t{0}}) {
    float lowest = best;  // of those with such odds: all others come behind it, or are among them
    for (const Candidate& candidate : room.candidates)
      if (candidate.odds >= least) lowest = std::min(lowest, candidate.logit);
    some.clear();
    for (const Candidate& candidate : room.candidates)
      if (candidate.logit >= lowest) some.push_back(candidate);
    if (weight_of(0, some.size()) >= wanted) break;
    if (least == 0) return nullptr;
  }
  std::size_t begin = 0, end = some.size();
  for (std::uint64_t above = 0; end - begin > 1;) {
    const std::size_t middle = begin + (end - begin) / 2;
    const auto at = [&](std::size_t i) { return some.begin() + static_cast<std::ptrdiff_t>(i); };
    std::nth_element(at(begin), at(middle), at(end), goes_first);
    const std::uint64_t half = weight_of(begin, middle);
    if (above + half >= wanted) end = middle;
    else begin = middle, above += half;
  }
  return &some[begin];
}

template <class Weight>
void keep_first(ChoiceRoom& room, std::uint64_t wanted, const Weight& weight) {
  if (const Candidate* last = last_of_first(room, wanted, weight))
    std::erase_if(room.candidates, [&](const Candidate& one) { return goes_first(*last, one); });
}

std::uint64_t odds_together(std::span<const Candidate> candidates) {
  std::uint64_t total = 0;
  for (const Candidate& candidate : candidates) total += candidate.odds;
  return total;
}

std::int64_t draw(ChoiceRoom& room, const Choice& choice) {
  const auto odds = [](const Candidate& candidate) { return candidate.odds; };
  if (choice.top_k > 0)
    keep_first(room, static_cast<std::uint64_t>(choice.top_k),
               [](const Candidate&) { return std::uint64_t{1}; });
  if (choice.top_p < 1.0f)
    keep_first(room, share_of_odds(choice.top_p, odds_together(room.candidates)), odds);
  std::uint64_t left = upper_half(choice.chance, odds_together(room.candidates));
  for (const Candidate& candidate : room.candidates) {
    if (left < candidate.odds) return candidate.id;
    left -= candidate.odds;
  }
  return room.candidates.back().id;
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
  room.candidates.reserve(logits.size());
  room.sought.reserve(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const std::uint64_t odds = odds_of(logits[i] - logits[best], numbers.octaves);
    if (odds >= numbers.least) room.candidates.push_back({odds, logits[i], static_cast<std::int32_t>(i)});
  }
  return draw(room, choice);
}

}  // namespace mplus
