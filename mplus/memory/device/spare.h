// Memory of a device for copies of rows, which only make work faster: given while the device has some to
// spare beside what work cannot do without (MemoryBudget::keep).
#pragma once

#include <cstddef>
#include <memory>

#include "mplus/core/tensors/device_buffer.h"
#include "mplus/kernels/queue.h"

namespace mplus::memory {

// Null: there is none to spare.
std::shared_ptr<Buffer> spare_buffer(kernels::Queue& queue, std::size_t size_bytes);

}  // namespace mplus::memory
