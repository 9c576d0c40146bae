// What a device can do: every operation, after its checks. The operations' own headers say what each means;
// here only the tensors' contents are left to be computed, all of them on the backend's device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "mplus/core/buffer.h"
#include "mplus/core/device_buffer.h"
#include "mplus/core/tensor.h"

namespace mplus::kernels {

class Queue;
class RopeTable;
struct LinearOutput;

class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  virtual Buffer allocate(std::size_t size_bytes) const = 0;

  // rows.h
  virtual void copy(Queue&, Tensor out, ConstTensor in) const = 0;
  virtual void fill(Queue&, Tensor out, float value) const = 0;
  virtual bool all_finite(Queue&, ConstTensor x) const = 0;
  // embedding.h
  virtual void embed(Queue&, Tensor out, const Matrix& table, std::span<const std::int32_t> ids) const = 0;
  // linear.h
  virtual void linear(Queue&, ConstTensor x, std::span<const LinearOutput> outputs) const = 0;
  // norm.h
  virtual void rms_norm(Queue&, Tensor out, ConstTensor x, ConstTensor weight, float epsilon) const = 0;
  // activation.h
  virtual void swiglu(Queue&, Tensor out, ConstTensor gate, ConstTensor up) const = 0;
  virtual void silu(Queue&, Tensor x) const = 0;
  virtual void add_row(Queue&, Tensor x, ConstTensor row) const = 0;
  // pooling.h
  virtual void pooling_shares(Queue&, Tensor shares, ConstTensor x, ConstTensor vector) const = 0;
  // rope.h
  virtual void rope(Queue&, Tensor x, const RopeTable& angles, std::int64_t first_position) const = 0;
};

const Backend& cpu_backend();
// Of kernels/cuda/; a build without it has the one of kernels/no_cuda/, which throws unsupported.
const Backend& cuda_backend(const Device& device);

}  // namespace mplus::kernels
