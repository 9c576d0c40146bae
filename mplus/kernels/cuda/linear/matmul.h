// Large products by cuBLASLt: out[T,o] = scale · x[T,i] · w[o,i]ᵀ, or +=, x and w of bf16 or f16, out of f32.
// An algorithm is chosen once for a shape of weights and a range of T. Where rows must not depend on their
// neighbours, all of them add up a row's products in one block, in one order, and give the same bits: a
// second one is taken only if it does, bit for bit, what the shape's first one does with the rows at hand.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "mplus/core/numbers/dtype.h"
#include "mplus/core/tensors/device_buffer.h"
#include "mplus/kernels/cuda/device/device_memory.h"
#include "mplus/kernels/cuda/device/launch.h"

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

  // Products that are made with a first one, each with the bits it has alone: everything lies as far behind
  // that of the one before, in elements.
  struct Batch {
    int count = 1;
    std::int64_t w = 0, x = 0, out = 0;
  };
  // Whether two products of one x can be made so.
  static bool pair(const Product& a, const Product& b);
  static Batch batch_of(const Product& a, const Product& b);  // of two such

  struct Job {
    Product product;
    Batch batch = {};
    const void* x = nullptr;  // [T, inputs] of the weights' type
    std::int64_t T = 0, inputs = 0;
    bool any_neighbours = false;  // bits may depend on T
  };
  void run(const Job& job);

 private:
  struct Plan;
  struct Key {
    std::int64_t outputs = 0, inputs = 0;
    DType dtype = DType::bf16;
    std::int64_t rows = 0;  // 0: the one that says what a row's bits are
    bool any_neighbours = false;
    int batch = 1;
    bool one_x = true;
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  void open();
  const Plan& plan_for(const Job& job);
  const Plan& usual_plan(const Job& job);
  bool same_bits(const Job& job, const Plan& plan, const Plan& usual) const;
  bool start(const Job& job, const Plan& plan) const;  // false: the algorithm does not make it

  const DeviceMemory* memory_;
  cublasLtContext* handle_ = nullptr;
  Buffer workspace_;
  std::map<Key, std::unique_ptr<Plan>> plans_;
};

// "cublaslt130002"
std::string matmul_id();

}  // namespace mplus::kernels::cuda
