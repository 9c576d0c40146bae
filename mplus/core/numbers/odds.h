// How likely a token is beside the likeliest one, as a whole number, so that a sum does not depend on its
// order: the same bits on every device. Of this file products and sums are never fused.
#pragma once

#include <cstdint>

namespace mplus {

inline constexpr int kOddsBits = 40;  // the likeliest has 2^40: 2^23 tokens fit into a sum
inline constexpr std::uint64_t kBestOdds = std::uint64_t{1} << kOddsBits;

// What happens to the logit of one token before it is compared.
struct LogitEdit {
  std::int32_t id = 0;
  float penalty = 1;  // divides what is above 0, multiplies what is not
  float more = 0;     // added then
};
constexpr float edited(float logit, const LogitEdit& edit) {
  return (logit > 0.0f ? logit / edit.penalty : logit * edit.penalty) + edit.more;
}

// 2^40 · 2^(octaves · below) for a logit that is `below` ≤ 0 beside the best one's, to 2^-22 of itself or the
// next whole number below; 0 for NaN.
constexpr std::uint64_t odds_of(float below, float octaves) {
  const float x = below * octaves;
  if (!(x > -41.0f)) return 0;
  const int whole = static_cast<int>(x);          // towards zero
  const float f = x - static_cast<float>(whole);  // in (−1, 0]
  constexpr float kOfTwo[] = {0.00011491995246615261f,
                              0.0012916368432343006f,
                              0.009597035124897957f,
                              0.055499229580163956f,
                              0.24022608995437622f,
                              0.6931471824645996f,
                              1.0f};
  float p = 0.0f;  // 2^f
  for (const float c : kOfTwo) p = p * f + c;
  return (static_cast<std::uint64_t>(p * 0x1p24f) << (kOddsBits - 24)) >> -whole;
}

// So much of a sum of odds, but something.
constexpr std::uint64_t share_of_odds(float share, std::uint64_t total) {
  const auto wanted = static_cast<std::uint64_t>(static_cast<double>(share) * static_cast<double>(total));
  return wanted > 0 ? wanted : 1;
}

}  // namespace mplus
