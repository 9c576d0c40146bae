#include "mplus/engine/answer/sampling/sampler.h"

#include <algorithm>
#include <cmath>

#include "mplus/core/error.h"
#include "mplus/core/numbers/philox.h"

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
  if (!std::isfinite(o.frequency_penalty)) reject("frequency penalty", "a number", o.frequency_penalty);
  if (!std::isfinite(o.presence_penalty)) reject("presence penalty", "a number", o.presence_penalty);
}

Sampler::Sampler(const SamplingOptions& options, std::int64_t vocab) : options_(options), vocab_(vocab) {
  check(options);
}

// Token by token: what was said of it before it is biased.
void Sampler::note_edits(const Said& said) {
  edits_.clear();
  if (options_.repetition_penalty != 1.0f)
    for (const io::TokenId id : said.recent)
      edits_.push_back({.id = id, .penalty = options_.repetition_penalty});
  if (options_.frequency_penalty != 0.0f || options_.presence_penalty != 0.0f)
    for (const io::TokenId id : said.answer)
      edits_.push_back({.id = id, .more = -options_.frequency_penalty});
  std::ranges::stable_sort(edits_, {}, &LogitEdit::id);
  // Those of one token become one edit.
  std::size_t n = 0;
  for (std::size_t i = 0; i < edits_.size(); ++n) {
    LogitEdit one{.id = edits_[i].id};
    bool answered = false;
    for (; i < edits_.size() && edits_[i].id == one.id; ++i) {
      if (edits_[i].penalty != 1.0f) one.penalty = edits_[i].penalty;
      else answered = true, one.more += edits_[i].more;
    }
    if (answered) one.more -= options_.presence_penalty;
    edits_[n] = one;
  }
  edits_.resize(n);
  for (const auto& [id, bias] : options_.bias) {
    if (id < 0 || id >= vocab_) continue;
    const auto at = std::ranges::lower_bound(edits_, id, {}, &LogitEdit::id);
    if (at != edits_.end() && at->id == id) at->more += bias;
    else edits_.insert(at, {.id = id, .more = bias});
  }
}

Choice Sampler::choice(const Said& said, std::uint32_t step, std::uint32_t part) {
  Choice choice{.temperature = options_.temperature,
                .top_k = options_.top_k,
                .top_p = options_.top_p,
                .min_p = options_.min_p};
  if (options_.temperature > 0)
    choice.chance = random_bits(options_.seed, RandomStream::sample, step, part, 0);
  if (!options_.leaves_logits_alone()) {
    note_edits(said);
    choice.edits = edits_;
  }
  return choice;
}

io::TokenId Sampler::pick(std::span<const float> logits, const Said& said, std::uint32_t step,
                          std::uint32_t part) {
  MPLUS_CHECK(std::ssize(logits) == vocab_, "{} logits of {}", logits.size(), vocab_);
  const Choice chosen = choice(said, step, part);
  if (!chosen.edits.empty()) {
    edited_.assign(logits.begin(), logits.end());
    edit(edited_, chosen.edits);
    logits = edited_;
  }
  return static_cast<io::TokenId>(choose(logits, chosen, room_));
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
