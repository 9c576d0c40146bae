// Stored tensors as floats (what a row means stands in core/numbers/dequantise.h), and the order of a head's
// rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mplus/core/numbers/dequantise.h"
#include "mplus/io/weights/tensor.h"

namespace mplus::io {

using mplus::dequantise_row;

std::vector<float> dequantise(const Tensor& tensor);  // row-major, all elements

// GGUF (and llama2.c) store the rows of a head's q and k as interleaved rotary pairs; the model computes in
// the half-split layout. Within each of the heads: out[half * (e/2) + i] = in[2 * i + half], e = rows /
// heads. Works on whole rows, quantised or not. out and in must not overlap; rows must be a multiple of 2 *
// heads.
void unpermute_rows(std::byte* out, const std::byte* in, std::int64_t rows, std::size_t row_size_bytes,
                    std::int64_t heads);
// The inverse.
void permute_rows(std::byte* out, const std::byte* in, std::int64_t rows, std::size_t row_size_bytes,
                  std::int64_t heads);

}  // namespace mplus::io
