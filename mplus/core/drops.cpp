#include "mplus/core/drops.h"

#include <algorithm>
#include <utility>

#include "mplus/core/error.h"
#include "mplus/core/numbers/philox.h"

namespace mplus {

std::vector<std::int64_t> choose_drops(std::uint64_t seed, std::int64_t layer, std::int64_t update,
                                       std::int64_t n, std::int64_t k) {
  MPLUS_CHECK(0 <= k && k <= n, "drop {} of {}", k, n);
  std::vector<std::pair<std::uint64_t, std::int64_t>> draws(static_cast<std::size_t>(n));
  for (std::int64_t slot = 0; slot < n; ++slot)
    draws[static_cast<std::size_t>(slot)] = {
        random_bits(seed, RandomStream::drop, static_cast<std::uint32_t>(update),
                    static_cast<std::uint32_t>(layer), static_cast<std::uint32_t>(slot)),
        slot};
  std::nth_element(draws.begin(), draws.begin() + k, draws.end());
  std::vector<std::int64_t> slots(static_cast<std::size_t>(k));
  for (std::size_t i = 0; i < slots.size(); ++i) slots[i] = draws[i].second;
  std::sort(slots.begin(), slots.end());
  return slots;
}

}  // namespace mplus
