// A memory that is full: random rows put straight into slots, segments and a window, since to write them
// would take hours.
#pragma once

#include <cstdint>

#include "mplus/core/thread_pool.h"
#include "mplus/memory/memory.h"
#include "mplus/memory/window.h"

namespace mplus::cli {

inline constexpr std::int64_t kBenchSegmentRows = 1024;  // as a store that grows by and by has them

struct FullMemory {
  memory::Memory memory;
  memory::WindowRows window;
};

// N short-term rows, `stored` long-term rows and a window of `window` rows in every layer that keeps any.
// Rows of a chunk lie apart in the store, as random drops leave them.
FullMemory full_memory(const memory::Layout& layout, std::int64_t stored, std::int64_t window,
                       ThreadPool& threads);

}  // namespace mplus::cli
