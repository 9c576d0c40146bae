#include "mplus/kernels/cuda/device/check.h"

#include "mplus/core/error.h"

namespace mplus::kernels::cuda {
namespace {

ErrorCode code_of(cudaError_t status) {
  switch (status) {
    case cudaErrorMemoryAllocation:
      return ErrorCode::out_of_capacity;
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
      return ErrorCode::unsupported;
    default:
      return ErrorCode::io;
  }
}

}  // namespace

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // it is told once
  fail(code_of(status), "the CUDA device failed while {}: {} ({})", what, cudaGetErrorString(status),
       cudaGetErrorName(status));
}

void check_launch(const char* what) { check(cudaGetLastError(), what); }

void out_of_memory(const char* where, std::size_t size_bytes, int device) {
  cudaGetLastError();
  std::size_t free = 0, total = 0;
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) cudaGetLastError();
  fail(ErrorCode::out_of_capacity, "cuda:{}: no {} for {} bytes more ({} of {} bytes of the device are free)",
       device, where, size_bytes, free, total);
}

}  // namespace mplus::kernels::cuda
