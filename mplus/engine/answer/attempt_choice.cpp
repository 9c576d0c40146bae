#include "mplus/engine/answer/attempt_choice.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace mplus::engine {
namespace {

constexpr float kBarred = -std::numeric_limits<float>::infinity();

}  // namespace

std::vector<std::int64_t> spoken_for(std::span<const std::int64_t> best_first, const SpeaksFor& speaks_for) {
  std::vector<std::int64_t> chunks;
  std::int64_t most = 1;
  for (const std::int64_t chunk : best_first.first(std::min(best_first.size(), kBestChunks))) {
    const std::int64_t speaks = speaks_for(chunk);
    if (speaks > most) chunks.clear();
    most = std::max(most, speaks);
    if (speaks == most) chunks.push_back(chunk);
  }
  std::sort(chunks.begin(), chunks.end(), std::greater());
  return chunks;
}

std::vector<memory::Attempts::Attempt> attempts_by_text(const memory::Votes& votes,
                                                        const RecallPolicy& policy,
                                                        const SpeaksFor& speaks_for) {
  std::vector<memory::Attempts::Attempt> first, others;
  for (const std::int64_t chunk : spoken_for(votes.order(), speaks_for)) first.push_back({chunk, -kAhead});
  if (first.empty()) return first;
  for (const std::int64_t chunk : votes.leaders(policy.margin)) {
    if (std::ssize(others) == policy.attempts) break;
    if (std::none_of(first.begin(), first.end(), [&](const auto& a) { return a.chunk == chunk; }))
      others.push_back({chunk, votes.behind(chunk)});
  }
  std::sort(others.begin(), others.end(), [](const auto& a, const auto& b) { return a.chunk > b.chunk; });
  first.insert(first.end(), others.begin(), others.end());
  first.resize(std::min(first.size(), static_cast<std::size_t>(policy.attempts)));
  return first;
}

AttemptChoice::AttemptChoice(const io::Tokenizer& tokenizer, const RecallPolicy& policy)
    : none_(io::first_ids(tokenizer, policy.no_answer)), lean_(policy.lean), lag_(policy.lag) {}

bool AttemptChoice::settle(std::span<float> logits, double behind) const {
  std::vector<float> none;
  for (const io::TokenId id : none_) {
    float& logit = logits[static_cast<std::size_t>(id)];
    none.push_back(logit);
    logit = kBarred;
  }
  const float none_best = none.empty() ? kBarred : *std::max_element(none.begin(), none.end());
  const double odds = *std::max_element(logits.begin(), logits.end()) - none_best;
  const bool gives = odds > lag_ * behind - lean_;
  if (gives && odds < 0) return true;
  // An answer may begin with the same word: where that is likeliest, what follows tells.
  const bool passed = !gives && odds >= 0;
  if (passed) std::fill(logits.begin(), logits.end(), kBarred);
  for (std::size_t i = 0; i < none.size(); ++i) logits[static_cast<std::size_t>(none_[i])] = none[i];
  return !passed;
}

}  // namespace mplus::engine
