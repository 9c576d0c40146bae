// The token loop allocates nothing: every new and delete of this program is counted.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "mplus/engine/reading.h"
#include "mplus/engine/sampler.h"
#include "tiny_engine.h"

namespace {
std::atomic<std::int64_t> g_allocations{0};

void* counted(std::size_t size, std::size_t alignment) {
  ++g_allocations;
  void* p = nullptr;
  if (posix_memalign(&p, std::max(alignment, sizeof(void*)), size) != 0) throw std::bad_alloc();
  return p;
}
}  // namespace

void* operator new(std::size_t size) { return counted(size, alignof(std::max_align_t)); }
void* operator new[](std::size_t size) { return counted(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t a) {
  return counted(size, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t size, std::align_val_t a) {
  return counted(size, static_cast<std::size_t>(a));
}
// The non-throwing forms as well: a sanitizer's own would not fit the deletes below.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return counted(size, alignof(std::max_align_t));
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return counted(size, alignof(std::max_align_t));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

namespace mplus::engine {
namespace {

TEST(TokenLoop, AllocatesNothing) {
  for (int threads : {1, 2}) {
    Engine engine(tiny_options(threads));
    Session session(engine);
    session.remember_ids(random_ids(3000, 1), "text");
    GenerateOptions options;
    memory::WindowRows rows(engine.layout());
    Reading reading(engine, session.memory(), rows, options);
    std::vector<float> next(300);
    const model::LogitsSink sink = [&](std::size_t, std::int64_t, std::span<const float> logits) {
      std::copy(logits.begin(), logits.end(), next.begin());
    };
    const auto prompt = random_ids(40, 2);
    reading.prefill(prompt, 0, 40, 200, 39, sink);
    Sampler sampler({.temperature = 0.8f, .top_k = 40, .top_p = 0.9f}, 300);
    reading.step(sampler.pick(next, {}, 0, 0), sink);  // buffers of a first step
    const std::int64_t before = g_allocations;
    for (std::uint32_t n = 1; n < 150; ++n) reading.step(sampler.pick(next, {}, n, 0), sink);
    EXPECT_EQ(g_allocations - before, 0) << "with " << threads << " threads";
  }
}

}  // namespace
}  // namespace mplus::engine
