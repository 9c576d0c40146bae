#include "mplus/io/weights/tensor.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "mplus/core/error.h"
#include "mplus/io/text/names.h"
#include "mplus/io/weights/tensor_lookup.h"

namespace mplus::io {
namespace {

std::string dtype_list(std::span<const DType> dtypes) {
  std::string out;
  for (const DType t : dtypes) {
    if (!out.empty()) out += " or ";
    out += dtype_name(t);
  }
  return out;
}

}  // namespace

std::int64_t Tensor::elements() const {
  const auto count = element_count(shape);
  MPLUS_CHECK(count.has_value(), "tensor {}", name);
  return *count;
}

Matrix Tensor::matrix() const {
  const std::int64_t cols = shape.empty() ? 1 : shape.back();
  Matrix m;
  m.data = bytes.data();
  m.dtype = dtype;
  m.rows = cols == 0 ? 0 : elements() / cols;
  m.cols = cols;
  return m;
}

std::optional<std::int64_t> element_count(std::span<const std::int64_t> shape) {
  // A zero anywhere decides first: [2^40, 2^40, 0] holds nothing and does not overflow.
  if (std::ranges::any_of(shape, [](std::int64_t n) { return n < 0; })) return std::nullopt;
  if (std::ranges::find(shape, 0) != shape.end()) return 0;
  std::int64_t count = 1;
  for (const std::int64_t n : shape) {
    if (count > std::numeric_limits<std::int64_t>::max() / n) return std::nullopt;
    count *= n;
  }
  return count;
}

std::optional<std::size_t> tensor_size_bytes(DType dtype, std::span<const std::int64_t> shape) {
  const auto count = element_count(shape);
  const std::int64_t row = shape.empty() ? 1 : shape.back();
  if (!count || row % block_elements(dtype) != 0) return std::nullopt;
  const auto blocks = static_cast<std::size_t>(*count / block_elements(dtype));
  if (blocks > std::numeric_limits<std::int64_t>::max() / block_bytes(dtype)) return std::nullopt;
  return blocks * block_bytes(dtype);
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string out = "[";
  for (std::size_t i = 0; i < shape.size(); ++i)
    out += fmt::format("{}{}", i == 0 ? "" : ", ", shape[i] < 0 ? "any" : fmt::format("{}", shape[i]));
  return out + "]";
}

void check_tensor(const Tensor& tensor, std::string_view file_name, std::span<const DType> dtypes,
                  std::span<const std::int64_t> shape) {
  if (!dtypes.empty() && std::ranges::find(dtypes, tensor.dtype) == dtypes.end())
    fail(ErrorCode::model_mismatch, "{}: tensor {}: expected type {}, found {}", file_name,
         shown(tensor.name), dtype_list(dtypes), dtype_name(tensor.dtype));
  const bool same = std::ranges::equal(
      shape, tensor.shape, [](std::int64_t wanted, std::int64_t n) { return wanted == -1 || wanted == n; });
  if (!same)
    fail(ErrorCode::model_mismatch, "{}: tensor {}: expected shape {}, found {}", file_name,
         shown(tensor.name), shape_text(shape), shape_text(tensor.shape));
}

const Tensor* find_tensor(const TensorMap& tensors, std::string_view name) {
  const auto at = tensors.find(name);
  return at == tensors.end() ? nullptr : &at->second;
}

const Tensor& tensor_at(const TensorMap& tensors, std::string_view file_name, std::string_view name) {
  const Tensor* tensor = find_tensor(tensors, name);
  if (tensor == nullptr)
    fail(ErrorCode::not_found, "{}: tensor {}: expected, found none of that name", file_name, shown(name));
  return *tensor;
}

}  // namespace mplus::io
