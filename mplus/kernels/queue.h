// What every operation needs beside its tensors: a device, the numerics, the processor's threads, and scratch
// memory that is kept between calls. One Queue per engine; one thread at a time may use it.
//
// Operations of one queue are done in the order they were called. On the processor each is done when its call
// returns. On another device a call may return before: what it brings to host memory is there after wait().
// Host memory that an operation reads (token ids, places, rows, a copy's source) may be changed or given back
// as soon as the call returns; a Buffer of the device may be given back while work on it is still to be done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mplus/core/tensors/buffer.h"
#include "mplus/core/tensors/device.h"
#include "mplus/core/thread_pool.h"

namespace mplus::kernels {

// exact: all arithmetic in f32. fast: what the device does best. On the processor quantised and i8 weights
// meet activations rounded to integers of fifteen bits in blocks of 32; of batched rows both are rounded, as
// the instruction set multiplies them fastest (docs/numerics.md).
enum class Numerics : std::uint8_t { exact, fast };

class Backend;
class HostPool;

// What a backend keeps for one queue: the processor a note, CUDA its stream, handles and workspace.
class QueueState {
 public:
  QueueState() = default;
  QueueState(const QueueState&) = delete;
  QueueState& operator=(const QueueState&) = delete;
  virtual ~QueueState() = default;
};

class Queue {
 public:
  // Throws unsupported where this program has nothing for the device.
  Queue(ThreadPool& pool, Numerics numerics, Device device = {});
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  ~Queue();  // waits

  Device device() const { return device_; }
  const Backend& backend() const { return *backend_; }
  QueueState& state() { return *state_; }
  ThreadPool& pool() { return pool_; }
  Numerics numerics() const { return numerics_; }

  // Returns when everything called so far is done. Throws where the device failed.
  void wait();
  // Returns when what was brought aside (outgoing.h) so far has arrived; operations called later may still
  // run.
  void wait_aside();

  // An arena of host memory of at least size_bytes, aligned to 64 bytes; contents undefined. It grows and is
  // kept, so a loop of equal steps allocates nothing. A worker's arena may be asked for inside
  // ThreadPool::run by that worker; the shared one (an operation's common temporaries) only outside. Each
  // call invalidates the arena's last.
  std::byte* scratch(int worker, std::size_t size_bytes);
  std::byte* shared_scratch(std::size_t size_bytes);

  HostPool& host_pool() { return *host_pool_; }  // outgoing.h

 private:
  ThreadPool& pool_;
  Numerics numerics_;
  Device device_;
  const Backend* backend_;
  std::unique_ptr<QueueState> state_;
  std::vector<AlignedVector<std::byte>> arenas_;  // [threads + 1]; the last is the shared one
  std::unique_ptr<HostPool> host_pool_;
};

std::string_view isa_name();  // "avx512vnni", "avx2", "neon-i8mm", "portable", …
// Values are bit-equal for equal ids: "k2-avx512vnni-fast"; of CUDA, with architecture and libraries.
std::string numerics_id(Numerics numerics, Device device = {});

}  // namespace mplus::kernels
