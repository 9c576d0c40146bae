// What every operation needs beside its tensors: a device, the threads, the numerics, and scratch memory that
// is kept between calls. One Queue per engine; one thread at a time may use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mplus/core/buffer.h"
#include "mplus/core/device.h"
#include "mplus/core/thread_pool.h"

namespace mplus::kernels {

// exact: all arithmetic in f32. fast: quantised and i8 weights meet activations rounded to integers of
// fifteen bits in blocks of 32, with exact integer dot products inside a block.
enum class Numerics : std::uint8_t { exact, fast };

class Backend;

class Queue {
 public:
  // Throws unsupported where this program has nothing for the device.
  Queue(ThreadPool& pool, Numerics numerics, Device device = {});
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  Device device() const { return device_; }
  const Backend& backend() const { return *backend_; }
  ThreadPool& pool() { return pool_; }
  Numerics numerics() const { return numerics_; }

  // An arena of at least size_bytes, aligned to 64 bytes; contents undefined. It grows and is kept, so a loop
  // of equal steps allocates nothing. A worker's arena may be asked for inside ThreadPool::run by that
  // worker; the shared one (an operation's common temporaries) only outside. Each call invalidates the
  // arena's last.
  std::byte* scratch(int worker, std::size_t size_bytes);
  std::byte* shared_scratch(std::size_t size_bytes);

 private:
  ThreadPool& pool_;
  Numerics numerics_;
  Device device_;
  const Backend* backend_;
  std::vector<AlignedVector<std::byte>> arenas_;  // [threads + 1]; the last is the shared one
};

std::string_view isa_name();                 // "avx512vnni", "avx2", "neon-i8mm", "portable", …
std::string numerics_id(Numerics numerics);  // "k2-avx512vnni-fast": values are bit-equal for equal ids

}  // namespace mplus::kernels
