// Matrix products with weights in the type of their file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "mplus/core/tensors/buffer.h"
#include "mplus/core/tensors/tensor.h"
#include "mplus/kernels/queue.h"

namespace mplus::kernels {

// batched: the bits of a row of out do not depend on T, on its neighbours or on the thread count (a law of
// the write pass). some: the same law with bits of its own, at its best up to Backend::short_rows (a short
// prompt); as batched on a backend that has none. few: may take a matrix-vector path while T is small
// (decoding); still independent of threads.
enum class Rows : std::uint8_t { few, some, batched };

struct LinearOptions {
  bool accumulate = false;  // out += instead of out =
  float scale = 1.0f;       // of the product
  Rows rows = Rows::few;
};

// out[T,o] = scale * x[T,i] · w[o,i]ᵀ; w is f32, f16, bf16, i8 with row_scales, or quantised,
// which needs i to be a multiple of its block (32, or 256 for K-quants); on a device other than the processor
// it is of a type that Backend::weight_type gives, or, where Backend::packs_weights says so, i8 or u8 with
// row_scales, u8 being small floats (core/numbers/float8.h). out must not overlap x; its rows may stand
// apart.
void linear(Queue& queue, Tensor out, ConstTensor x, const Matrix& w, const LinearOptions& options = {});

// Several products of the same x, at most kMostProducts, with equal options.rows. Every result has the bits
// it has alone.
struct LinearOutput {
  Tensor out;
  const Matrix* w = nullptr;
  LinearOptions options = {};
};
inline constexpr std::size_t kMostProducts = 8;
void linear(Queue& queue, ConstTensor x, std::span<const LinearOutput> outputs);

}  // namespace mplus::kernels
