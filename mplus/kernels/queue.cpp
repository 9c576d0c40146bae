#include "mplus/kernels/queue.h"

#include "mplus/core/error.h"
#include "mplus/kernels/backend.h"
#include "mplus/kernels/rows/outgoing.h"

namespace mplus::kernels {
namespace {

std::byte* grown(AlignedVector<std::byte>& arena, std::size_t size_bytes) {
  if (arena.size() < size_bytes) {
    arena.clear();  // nothing to keep: growing must not copy
    arena.resize(size_bytes + size_bytes / 4);
  }
  return arena.data();
}

}  // namespace

Queue::Queue(ThreadPool& pool, Numerics numerics, Device device)
    : pool_(pool),
      numerics_(numerics),
      device_(device),
      backend_(&backend_of(device)),
      state_(backend_->make_state()),
      arenas_(static_cast<std::size_t>(pool.size()) + 1),
      host_pool_(std::make_unique<HostPool>()) {}

Queue::~Queue() {
  try {
    wait();
  } catch (const Error&) {  // nobody is left who could go on differently
  }
}

void Queue::wait() { backend_->wait(*this); }

void Queue::wait_aside() { backend_->wait_aside(*this); }

std::byte* Queue::scratch(int worker, std::size_t size_bytes) {
  MPLUS_CHECK(worker >= 0 && worker < pool_.size(), "worker {} of {}", worker, pool_.size());
  return grown(arenas_[static_cast<std::size_t>(worker)], size_bytes);
}

std::byte* Queue::shared_scratch(std::size_t size_bytes) { return grown(arenas_.back(), size_bytes); }

const Backend& backend_of(const Device& device) {
  return device.is_cpu() ? cpu_backend() : cuda_backend(device);
}

std::string numerics_id(Numerics numerics, Device device) { return backend_of(device).numerics_id(numerics); }

}  // namespace mplus::kernels
