// Whether two layers' rows are the same, bit for bit and in the same order, wherever they lie.
#pragma once

#include <algorithm>
#include <cstring>

#include "mplus/memory/rows.h"

namespace mplus::memory {

inline bool same_rows(const Layout& layout, const RowsView& a, const RowsView& b) {
  if (a.n != b.n || a.format != b.format || !std::equal(a.birth, a.birth + a.n, b.birth)) return false;
  if ((a.key == nullptr) != (b.key == nullptr) || (a.hidden == nullptr) != (b.hidden == nullptr))
    return false;
  for (std::int64_t r = 0; r < a.n; ++r) {
    const std::size_t kv = layout.kv_bytes(a.format);
    if (std::memcmp(a.k_row(layout, r), b.k_row(layout, r), kv) != 0) return false;
    if (std::memcmp(a.v_row(layout, r), b.v_row(layout, r), kv) != 0) return false;
    if (a.key && std::memcmp(a.key_row(layout, r), b.key_row(layout, r), layout.key_bytes(a.format)) != 0)
      return false;
    if (a.hidden && std::memcmp(a.hidden_row(layout, r), b.hidden_row(layout, r), layout.hidden_bytes()) != 0)
      return false;
  }
  return true;
}

}  // namespace mplus::memory
