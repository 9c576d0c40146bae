// Matrix products with a low-rank addition to the matrix.
#pragma once

#include <cstdint>
#include <span>

#include "mplus/core/tensors/buffer.h"
#include "mplus/core/tensors/tensor.h"
#include "mplus/kernels/linear/linear.h"

namespace mplus::kernels {

struct LowRank {
  Matrix a;            // [r, in]
  Matrix b;            // [out, r]
  float scale = 1.0f;  // of their product
  Tensor low;          // [T, r], or more rows: room for what lies between
};

struct AdaptedOutput {
  Tensor out;                    // [T, out], or [n, out] of the first n ≤ T rows of x
  const Matrix* base = nullptr;  // [out, in]
  LowRank adapter = {};          // none where `a` is empty
  bool accumulate = false;       // out += instead of out =
};

// out = x[T,in] · (base + scale · b · a)ᵀ for several matrices, at most kMostProducts / 2. How rows are
// computed follows `rows`, as in linear().
void linear_adapted(Queue& queue, ConstTensor x, std::span<const AdaptedOutput> outputs, Rows rows);

// Such products of several x of one shape, each with matrices of its own: those of several layers, say. Every
// result has the bits it has alone.
struct AdaptedProducts {
  ConstTensor x;
  std::span<const AdaptedOutput> outputs;
};
void linear_adapted(Queue& queue, std::span<const AdaptedProducts> all, Rows rows);

// What comes after a result: anything, or only products of all its rows (linear, linear_adapted), for which a
// device may leave it elsewhere, as they read it; then the tensor itself may hold anything.
enum class ResultUse : std::uint8_t { any, products };

// gate.out = silu(gate) · up of two such products; up.out is room for the second, neither accumulates.
void swiglu_adapted(Queue& queue, ConstTensor x, const AdaptedOutput& gate, const AdaptedOutput& up,
                    Rows rows, ResultUse use = ResultUse::any);

}  // namespace mplus::kernels
