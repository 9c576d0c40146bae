// Long-term keys and values on the device that reads them, as far as it has room: what a read recalls need
// not come over the bus then. For the engine's thread alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mplus/kernels/attention/kv.h"
#include "mplus/memory/memory.h"

namespace mplus::memory {

// Keys and values of a segment's rows, as they are kept in host memory.
kernels::RowBlock columns_of(const RowsView& rows, const Layout& layout);

// Brings up to so many bytes that are missing, oldest segments first; a read that does so every time has the
// whole store there by and by. Always leaves kDeviceReserve for caches and passes. Returns the bytes brought.
inline constexpr std::size_t kDeviceReserve = std::size_t{8} << 30;
std::size_t bring_long_term(kernels::Queue& queue, const Memory& memory, std::size_t most_bytes);

}  // namespace mplus::memory
