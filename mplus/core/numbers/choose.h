// Which token follows: by its logit, and by chance.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mplus/core/numbers/odds.h"

namespace mplus {

// Tokens come in the order of their logits, the largest first, of equals the lower id first. A token's odds
// are e^((its logit − the best's) / temperature) (odds.h). Left out are tokens whose odds are below min_p; of
// the others all but the first top_k; of these all behind the first that have top_p of their odds together.
// Those that stay share the 2^64 values of `chance` by their odds, in the order of their ids. Where the best
// logit is not finite, and at temperature 0, the first token is taken. NaN comes last.
struct Choice {
  float temperature = 0;
  std::int64_t top_k = 0;  // 0: all
  float top_p = 1;
  float min_p = 0;
  std::uint64_t chance = 0;
  std::span<const LogitEdit> edits = {};  // one for an id
};

// What choosing needs room for; kept, it allocates nothing when it has grown.
struct ChoiceRoom {
  struct Candidate {
    std::uint64_t odds;
    float logit;
    std::int32_t id;
  };
  std::vector<Candidate> candidates, sought;
};
std::int64_t choose(std::span<const float> logits, const Choice& choice, ChoiceRoom& room);  // after edit()
void edit(std::span<float> logits, std::span<const LogitEdit> edits);

// A choice as numbers that are the same on every device. Odds below `least` are left out.
struct ChoiceNumbers {
  explicit ChoiceNumbers(const Choice& choice);

  float octaves;
  std::uint64_t least;
};

}  // namespace mplus
