// Lists of token ids.
#pragma once

#include <cstdint>
#include <vector>

namespace mplus::train {

inline void append(std::vector<std::int32_t>& to, const std::vector<std::int32_t>& tokens) {
  to.insert(to.end(), tokens.begin(), tokens.end());
}

inline std::int64_t size(const std::vector<std::int32_t>& tokens) {
  return static_cast<std::int64_t>(tokens.size());
}

}  // namespace mplus::train
