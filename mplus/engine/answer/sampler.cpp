#include "mplus/engine/answer/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "mplus/core/error.h"
#include "mplus/core/philox.h"

namespace mplus::engine {

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
}

Sampler::Sampler(const SamplingOptions& options, std::int64_t vocab) : options_(options) {
  check(options);
  candidates_.reserve(static_cast<std::size_t>(vocab));
  probabilities_.reserve(static_cast<std::size_t>(vocab));
}

void Sampler::penalise(std::span<const io::TokenId> recent) {
  if (options_.repetition_penalty == 1.0f) return;
  for (std::size_t i = 0; i < recent.size(); ++i) {
    const io::TokenId id = recent[i];
    if (std::find(recent.begin(), recent.begin() + static_cast<std::ptrdiff_t>(i), id) !=
        recent.begin() + static_cast<std::ptrdiff_t>(i))
      continue;  // once per distinct token
    float& logit = candidates_[static_cast<std::size_t>(id)].logit;
    logit = logit > 0 ? logit / options_.repetition_penalty : logit * options_.repetition_penalty;
  }
}

io::TokenId Sampler::pick(std::span<const float> logits, std::span<const io::TokenId> recent,
                          std::uint32_t step, std::uint32_t part) {
  MPLUS_CHECK(!logits.empty(), "no logits");
  if (options_.temperature == 0 && options_.repetition_penalty == 1.0f) return greedy(logits);
  candidates_.resize(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i) {
    // NaN has no place in an order, which sorting needs: it is never the best.
    const float logit = std::isnan(logits[i]) ? -std::numeric_limits<float>::infinity() : logits[i];
    candidates_[i] = {logit, static_cast<io::TokenId>(i)};
  }
  penalise(recent);
  const auto better = [](const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  };
  if (options_.temperature == 0) return std::min_element(candidates_.begin(), candidates_.end(), better)->id;
  if (options_.top_k > 0 && static_cast<std::size_t>(options_.top_k) < candidates_.size()) {
    std::nth_element(candidates_.begin(), candidates_.begin() + options_.top_k, candidates_.end(), better);
    candidates_.resize(static_cast<std::size_t>(options_.top_k));
  }
  std::sort(candidates_.begin(), candidates_.end(), better);
  if (!std::isfinite(candidates_.front().logit)) return candidates_.front().id;  // there are no odds
  return draw(step, part);
}

io::TokenId Sampler::draw(std::uint32_t step, std::uint32_t part) {
  probabilities_.resize(candidates_.size());
  double total = 0;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const double z = (static_cast<double>(candidates_[i].logit) - static_cast<double>(candidates_[0].logit)) /
                     static_cast<double>(options_.temperature);
    probabilities_[i] = std::exp(z);  // relative to the best token's 1
    if (probabilities_[i] < static_cast<double>(options_.min_p)) {
      probabilities_.resize(i);
      break;
    }
    total += probabilities_[i];
  }
  double kept = 0;
  std::size_t n = 0;
  while (n < probabilities_.size() && kept < static_cast<double>(options_.top_p) * total)
    kept += probabilities_[n++];
  const std::uint64_t bits = random_bits(options_.seed, RandomStream::sample, step, part, 0);
  double u = static_cast<double>(bits >> 11) * 0x1p-53 * kept;
  for (std::size_t i = 0; i < n; ++i) {
    u -= probabilities_[i];
    if (u < 0) return candidates_[i].id;
  }
  return candidates_[n - 1].id;
}

io::TokenId greedy(std::span<const float> logits) {
  MPLUS_CHECK(!logits.empty(), "no logits");
  return static_cast<io::TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
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
