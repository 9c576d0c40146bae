#include "mplus/engine/answer/sampling/constraint.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "mplus/core/error.h"
#include "mplus/engine/engine.h"

namespace mplus::engine {
namespace {

constexpr std::size_t kLookedAt = 512;  // likeliest tokens

}  // namespace

void apply(const Constraint& constraint, const Engine& engine, std::span<float> logits) {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  std::array<bool, 256> first{};
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    first[static_cast<std::size_t>(byte)] = constraint.allows({&c, 1});
  }
  const bool may_end = constraint.may_end();
  const auto allowed = [&](io::TokenId id) {
    if (engine.is_end(id)) return may_end;
    if (engine.tokenizer().is_special(id)) return false;  // not a text
    const std::string_view bytes = engine.tokenizer().token_bytes(id);
    return !bytes.empty() && first[static_cast<unsigned char>(bytes.front())] &&
           (bytes.size() == 1 || constraint.allows(bytes));
  };
  std::vector<io::TokenId> order(logits.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<io::TokenId>(i);
  const auto likelier = [&](io::TokenId a, io::TokenId b) {
    const float x = logits[static_cast<std::size_t>(a)], y = logits[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  };
  const auto best = static_cast<std::ptrdiff_t>(std::min(kLookedAt, order.size()));
  std::nth_element(order.begin(), order.begin() + best - 1, order.end(), likelier);
  std::vector<bool> keeps(logits.size());
  bool any = false;
  for (auto at = order.begin(); at != order.end() && (at - order.begin() < best || !any); ++at) {
    keeps[static_cast<std::size_t>(*at)] = allowed(*at);
    any = any || keeps[static_cast<std::size_t>(*at)];
  }
  // The text of every vocabulary can be spelt byte by byte, so this is a mistake in the constraint.
  if (!any)
    fail(ErrorCode::unsupported,
         "no token of this model can follow: the wanted form cannot be written with it");
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (!keeps[i]) logits[i] = kNever;
}

}  // namespace mplus::engine
