#include "mplus/engine/answer/attempt_choice.h"

#include <algorithm>
#include <limits>

namespace mplus::engine {
namespace {

constexpr float kBarred = -std::numeric_limits<float>::infinity();

}  // namespace

std::vector<memory::Attempts::Attempt> attempts_by_text(const memory::Votes& votes,
                                                        const RecallPolicy& policy,
                                                        const SpeaksFor& speaks_for) {
  std::vector<memory::Attempts::Attempt> first, others;
  const std::vector<std::int64_t> order = votes.order();
  std::int64_t most = 1;
  for (std::size_t i = 0; i < std::min(order.size(), kBestChunks); ++i) {
    const std::int64_t speaks = speaks_for(order[i]);
    if (speaks > most) first.clear();
    most = std::max(most, speaks);
    if (speaks == most) first.push_back({order[i], -kAhead});
  }
  if (first.empty()) return first;
  for (const std::int64_t chunk : votes.leaders(policy.margin)) {
    if (std::ssize(others) == policy.attempts) break;
    if (std::none_of(first.begin(), first.end(), [&](const auto& a) { return a.chunk == chunk; }))
      others.push_back({chunk, votes.behind(chunk)});
  }
  const auto newest_first = [](const auto& a, const auto& b) { return a.chunk > b.chunk; };
  std::sort(first.begin(), first.end(), newest_first);
  std::sort(others.begin(), others.end(), newest_first);
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
