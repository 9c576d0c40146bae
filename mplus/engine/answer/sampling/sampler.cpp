#include "mplus/engine/answer/sampling/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "mplus/core/error.h"
#include "mplus/core/numbers/philox.h"

namespace mplus::engine {

bool Sampler::better(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

void check(const SamplingOptions& o) {
  const auto reject = [](const char* field, const char* expected, double found) {
    fail(ErrorCode::invalid_argument, "{}: expected {}, got {}", field, expected, found);
  };
  if (!(o.temperature >= 0) || !std::isfinite(o.temperature))
    reject("temperature", "0 or more", o.temperature);
  if (o.top_k < 0) reject("top-k", "0 (all) or more", static_cast<double>(o.top_k));
  if (!(o.top_p > 0 && o.top_p <= 1)) reject("top-p", "a number in (0, 1]", o.top_p);
  if (!(o.min_p >= 0 && o.min_p < 1)) reject("min-p", "a number in [0, 1)", o.min_p);
  if (!(o.repetition_penalty > 0) || !std::isfinite(o.repetition_penalty))
    reject("repetition penalty", "a positive number", o.repetition_penalty);
  if (!std::isfinite(o.frequency_penalty)) reject("frequency penalty", "a number", o.frequency_penalty);
  if (!std::isfinite(o.presence_penalty)) reject("presence penalty", "a number", o.presence_penalty);
}

Sampler::Sampler(const SamplingOptions& options, std::int64_t vocab) : options_(options) {
  check(options);
  candidates_.reserve(static_cast<std::size_t>(vocab));
}

void Sampler::penalise(const Said& said) {
  const auto logit = [&](io::TokenId id) -> float& {
    return candidates_[static_cast<std::size_t>(id)].logit;
  };
  // Calls f with every token, and whether it is there for the first time.
  const auto each = [](std::span<const io::TokenId> tokens, auto&& f) {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const auto here = tokens.begin() + static_cast<std::ptrdiff_t>(i);
      f(tokens[i], std::find(tokens.begin(), here, tokens[i]) == here);
    }
  };
  if (options_.repetition_penalty != 1.0f)
    each(said.recent, [&](io::TokenId id, bool first) {
      float& l = logit(id);
      if (first) l = l > 0 ? l / options_.repetition_penalty : l * options_.repetition_penalty;
    });
  if (options_.frequency_penalty != 0.0f || options_.presence_penalty != 0.0f)
    each(said.answer, [&](io::TokenId id, bool first) {
      logit(id) -= options_.frequency_penalty + (first ? options_.presence_penalty : 0.0f);
    });
  for (const auto& [id, bias] : options_.bias)
    if (id >= 0 && static_cast<std::size_t>(id) < candidates_.size()) logit(id) += bias;
}

io::TokenId Sampler::pick(std::span<const float> logits, const Said& said, std::uint32_t step,
                          std::uint32_t part) {
  MPLUS_CHECK(!logits.empty(), "no logits");
  if (options_.takes_the_best()) return greedy(logits);
  candidates_.resize(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i) {
    // NaN has no place in an order, which sorting needs: it is never the best.
    const float logit = std::isnan(logits[i]) ? -std::numeric_limits<float>::infinity() : logits[i];
    candidates_[i] = {logit, static_cast<io::TokenId>(i)};
  }
  penalise(said);
  if (options_.temperature == 0) return std::min_element(candidates_.begin(), candidates_.end(), better)->id;
  if (options_.top_k > 0 && static_cast<std::size_t>(options_.top_k) < candidates_.size()) {
    std::nth_element(candidates_.begin(), candidates_.begin() + options_.top_k, candidates_.end(), better);
    candidates_.resize(static_cast<std::size_t>(options_.top_k));
    std::sort(candidates_.begin(), candidates_.end(), better);  // their order must not depend on the others'
  }
  return draw(step, part);
}

io::TokenId Sampler::draw(std::uint32_t step, std::uint32_t part) {
  const Candidate best = *std::min_element(candidates_.begin(), candidates_.end(), better);
  if (!std::isfinite(best.logit)) return best.id;      // there are no odds
  const auto odds = [&](const Candidate& candidate) {  // relative to the best token's 1
    return std::exp((static_cast<double>(candidate.logit) - static_cast<double>(best.logit)) /
                    static_cast<double>(options_.temperature));
  };
  double total = 0;
  std::erase_if(candidates_, [&](const Candidate& candidate) {
    const double odd = odds(candidate);
    if (odd < static_cast<double>(options_.min_p)) return true;
    total += odd;
    return false;
  });
  if (options_.top_p < 1.0f) total = keep_likeliest(static_cast<double>(options_.top_p) * total, odds);
  const std::uint64_t bits = random_bits(options_.seed, RandomStream::sample, step, part, 0);
  double u = static_cast<double>(bits >> 11) * 0x1p-53 * total;
  for (const Candidate& candidate : candidates_) {
    u -= odds(candidate);
    if (u < 0) return candidate.id;
  }
  return candidates_.back().id;
}

// Only the fewest that have these odds together stay, likeliest first; returns their sum. Sorts no more than
// it looks at.
template <class Odds>
double Sampler::keep_likeliest(double wanted, const Odds& odds) {
  std::size_t n = 0, sorted = 0;
  double sum = 0;
  for (; n < candidates_.size() && sum < wanted; ++n) {
    if (n == sorted) {
      const auto begin = candidates_.begin() + static_cast<std::ptrdiff_t>(sorted);
      sorted = std::min(candidates_.size(), std::max<std::size_t>(64, sorted * 8));
      const auto end = candidates_.begin() + static_cast<std::ptrdiff_t>(sorted);
      if (end != candidates_.end()) std::nth_element(begin, end, candidates_.end(), better);
      std::sort(begin, end, better);
    }
    sum += odds(candidates_[n]);
  }
  candidates_.resize(n);
  return sum;
}

io::TokenId greedy(std::span<const float> logits) {
  MPLUS_CHECK(!logits.empty(), "no logits");
  return static_cast<io::TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

TokenChances chances(std::span<const float> logits, io::TokenId id, std::size_t best) {
  const double chosen = negative_log_likelihood(logits, id);
  const double total = chosen + static_cast<double>(logits[static_cast<std::size_t>(id)]);
  TokenChances result{{id, -chosen}, {}};
  std::vector<io::TokenId> order(logits.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<io::TokenId>(i);
  best = std::min(best, order.size());
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(best);
  std::partial_sort(order.begin(), end, order.end(), [&](io::TokenId a, io::TokenId b) {
    const float x = logits[static_cast<std::size_t>(a)], y = logits[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  });
  for (auto at = order.begin(); at != end; ++at)
    result.best.push_back({*at, static_cast<double>(logits[static_cast<std::size_t>(*at)]) - total});
  return result;
}

double negative_log_likelihood(std::span<const float> logits, io::TokenId target) {
  MPLUS_CHECK(target >= 0 && static_cast<std::size_t>(target) < logits.size(), "token {} of {}", target,
              logits.size());
  const auto best = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
  double sum = 0;
  for (float logit : logits) sum += std::exp(static_cast<double>(logit) - best);
  return std::log(sum) + best - static_cast<double>(logits[static_cast<std::size_t>(target)]);
}

}  // namespace mplus::engine
