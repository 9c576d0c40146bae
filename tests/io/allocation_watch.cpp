#include "tests/io/allocation_watch.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<std::size_t> largest_request{0};
}  // namespace

void* operator new(std::size_t size) {
  std::size_t seen = largest_request.load();
  while (size > seen && !largest_request.compare_exchange_weak(seen, size)) {
  }
  if (void* memory = std::malloc(std::max<std::size_t>(size, 1))) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {  // std::stable_sort asks this way
  try {
    return operator new(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace mplus::io::test {

AllocationWatch::AllocationWatch() { largest_request.store(0); }
std::size_t AllocationWatch::largest() const { return largest_request.load(); }

}  // namespace mplus::io::test
