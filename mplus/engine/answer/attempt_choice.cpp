#include "mplus/engine/answer/attempt_choice.h"

#include <algorithm>
#include <limits>

namespace mplus::engine {
namespace {

constexpr float kBarred = -std::numeric_limits<float>::infinity();

}  // namespace

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
