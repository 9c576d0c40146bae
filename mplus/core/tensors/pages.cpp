#include "mplus/core/tensors/pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "mplus/core/platform.h"

namespace mplus {
namespace {

// The whole pages in there.
void advise(void* data, std::size_t size_bytes, std::size_t page, int advice) {
  const std::size_t before = (page - reinterpret_cast<std::uintptr_t>(data) % page) % page;
  if (size_bytes < before + page) return;
  madvise(static_cast<std::byte*>(data) + before, (size_bytes - before) / page * page, advice);
}

}  // namespace

void ask_for_large_pages(void* data, std::size_t size_bytes) {
  advise(data, size_bytes, std::size_t{2} << 20, MADV_HUGEPAGE);
}

void make_pages(void* data, std::size_t size_bytes) {
  constexpr std::size_t kLeast = std::size_t{128} << 10;  // less comes from pages that are there already
  if (size_bytes < kLeast) return;
  ask_for_large_pages(data, size_bytes);
  if constexpr (kMakePages >= 0)
    advise(data, size_bytes, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), kMakePages);
}

}  // namespace mplus
