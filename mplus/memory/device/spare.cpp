#include "mplus/memory/device/spare.h"

#include "mplus/core/error.h"
#include "mplus/core/tensors/memory_budget.h"
#include "mplus/kernels/backend.h"

namespace mplus::memory {

std::shared_ptr<Buffer> spare_buffer(kernels::Queue& queue, std::size_t size_bytes) {
  MemoryBudget& budget = device_budget();
  if (size_bytes > budget.spare()) return nullptr;
  try {
    const auto give_back = [&budget, size_bytes](const Buffer* buffer) {
      delete buffer;
      budget.give_back_spare(size_bytes);
    };
    std::shared_ptr<Buffer> buffer(new Buffer(queue.backend().allocate(size_bytes)), give_back);
    budget.take_spare(size_bytes);
    return buffer;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_capacity) throw;
    return nullptr;
  }
}

}  // namespace mplus::memory
