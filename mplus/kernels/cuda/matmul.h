// Large products by cuBLASLt: out[T,o] = scale · x[T,i] · w[o,i]ᵀ, or +=, x and w of bf16 or f16, out of f32.
// An algorithm is chosen once for a shape of weights. For rows that must not depend on their neighbours it is
// the same for every T and adds up a row's products in one block, in one order.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "mplus/core/device_buffer.h"
#include "mplus/core/dtype.h"
#include "mplus/kernels/cuda/device_memory.h"
#include "mplus/kernels/cuda/launch.h"

struct cublasLtContext;

namespace mplus::kernels::cuda {

class Matmul {
 public:
  explicit Matmul(const DeviceMemory& memory);
  Matmul(const Matmul&) = delete;
  Matmul& operator=(const Matmul&) = delete;
  ~Matmul();

  // Whether the library takes it: whole 16 bytes everywhere.
  static bool fits(const Product& product, std::int64_t inputs);

  // Whether two products of one x can be made as one: of equal shapes, one behind the other.
  static bool pair(const Product& a, const Product& b);

  struct Job {
    Product product;
    const Product* twin = nullptr;  // made with it; has the bits it has alone
    const void* x = nullptr;        // [T, inputs] of the weights' type
    std::int64_t T = 0, inputs = 0;
    bool any_neighbours = false;  // bits may depend on T
  };
  void run(const Job& job);

 private:
  struct Plan;
  using Key = std::tuple<std::int64_t, std::int64_t, DType, std::int64_t>;  // o, i, type, T or 0 for any

  void open();
  const Plan& plan_for(const Job& job);

  const DeviceMemory* memory_;
  cublasLtContext* handle_ = nullptr;
  Buffer workspace_;
  std::map<Key, std::unique_ptr<Plan>> plans_;
};

// "cublaslt130002"
std::string matmul_id();

}  // namespace mplus::kernels::cuda
