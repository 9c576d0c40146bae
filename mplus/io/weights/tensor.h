// A named tensor as it lies in a file: its bytes belong to the mapped file, not to the Tensor. Every Tensor
// handed out by a reader of this room has been checked: bytes holds exactly the elements its shape promises,
// and starts at an address its dtype may be read from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mplus/core/numbers/dtype.h"
#include "mplus/core/tensors/buffer.h"

namespace mplus::io {

struct Tensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;   // row-major; empty for a scalar
  std::span<const std::byte> bytes;  // lies in a mapped file

  std::int64_t elements() const;
  // [product of all dims but the last, last dim]; a scalar is [1, 1]. For i8 the caller sets row_scales.
  Matrix matrix() const;
};

using TensorMap = std::map<std::string, Tensor, std::less<>>;
using StringMap = std::map<std::string, std::string, std::less<>>;

// Elements of a shape, or nothing if a dim is negative or the product passes 2^63 − 1.
std::optional<std::int64_t> element_count(std::span<const std::int64_t> shape);
// Bytes of such a tensor, or nothing if it cannot be: overflow, or rows that are no whole quantised blocks.
std::optional<std::size_t> tensor_size_bytes(DType dtype, std::span<const std::int64_t> shape);

std::string shape_text(std::span<const std::int64_t> shape);  // "[30, 1, 576]"

// The one place where a tensor's dtype and shape are compared with what a model needs. An empty dtype list
// allows any; a dim of −1 in shape allows any. Throws model_mismatch naming file, tensor, expected and found.
void check_tensor(const Tensor& tensor, std::string_view file_name, std::span<const DType> dtypes,
                  std::span<const std::int64_t> shape);

}  // namespace mplus::io
