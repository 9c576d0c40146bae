// What CUDA refuses becomes an Error: out_of_capacity where memory is short, unsupported where device, driver
// or kernels do not fit together, io for everything else.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace mplus::kernels::cuda {

// `what` was tried, in words that follow "while".
void check(cudaError_t status, const char* what);
// After launches: what the last of them could not do.
void check_launch(const char* what);
[[noreturn]] void out_of_memory(const char* where, std::size_t size_bytes, int device);

}  // namespace mplus::kernels::cuda
