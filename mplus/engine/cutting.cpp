#include "mplus/engine/cutting.h"

#include "mplus/core/error.h"

namespace mplus::engine {

std::vector<std::int64_t> cut_text(std::int64_t n, std::int64_t C, std::int64_t K) {
  MPLUS_CHECK(n >= 0 && C > 0, "cut {} tokens into pieces of {}", n, C);
  std::vector<std::int64_t> pieces(static_cast<std::size_t>(n / C), C);
  const std::int64_t rest = n % C;
  if (rest == 0) return pieces;
  pieces.push_back(rest);
  const std::int64_t last_two = C + rest;
  if (pieces.size() > 1 && rest < K && last_two >= 2 * K) {
    pieces[pieces.size() - 2] = last_two - last_two / 2;
    pieces.back() = last_two / 2;
  }
  return pieces;
}

}  // namespace mplus::engine
