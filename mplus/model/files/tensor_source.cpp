#include "mplus/model/files/tensor_source.h"

#include <algorithm>
#include <cstring>

#include "mplus/core/error.h"
#include "mplus/core/numbers/finite.h"
#include "mplus/io/gguf/gguf_names.h"
#include "mplus/io/weights/dequantise.h"

namespace mplus::model {
namespace {

bool aligned(const io::Tensor& tensor) {
  std::size_t unit = block_bytes(tensor.dtype);
  if (is_quantised(tensor.dtype)) unit = alignof(std::uint16_t);
  return reinterpret_cast<std::uintptr_t>(tensor.bytes.data()) % unit == 0;
}

std::byte* own(Weights& owner, std::size_t size_bytes) {
  auto copy = std::make_shared<AlignedVector<std::byte>>(size_bytes);
  std::byte* data = copy->data();
  owner.owners.push_back(std::move(copy));
  return data;
}

bool usable(DType t) { return is_float(t) || is_quantised(t) || t == DType::i8; }

}  // namespace

TensorSource TensorSource::from(const io::Safetensors& file) {
  TensorSource source;
  source.find_ = [file](std::string_view name) { return file.find(name); };
  source.permuted_heads_ = [](std::string_view) { return std::int64_t{0}; };
  source.file_ = file.path().string();
  return source;
}

TensorSource TensorSource::from(const io::Gguf& file, const io::ModelConfig& config) {
  TensorSource source;
  source.find_ = [file](std::string_view name) { return file.find(io::gguf_name(name)); };
  source.permuted_heads_ = [config](std::string_view name) { return io::gguf_permuted_heads(name, config); };
  source.file_ = file.path().string();
  return source;
}

TensorSource TensorSource::from(const io::Llama2cModel& file, std::string name) {
  TensorSource source;
  source.find_ = [file](std::string_view wanted) -> const io::Tensor* {
    const auto at = file.tensors.find(wanted);
    return at == file.tensors.end() ? nullptr : &at->second;
  };
  source.permuted_heads_ = [](std::string_view) { return std::int64_t{0}; };
  source.file_ = std::move(name);
  return source;
}

const io::Tensor& TensorSource::at(std::string_view name) const {
  const io::Tensor* tensor = find_(name);
  if (!tensor) fail(ErrorCode::not_found, "{}: tensor \"{}\" is missing", file_, name);
  return *tensor;
}

Matrix TensorSource::matrix(Weights& owner, std::string_view name, std::int64_t rows,
                            std::int64_t cols) const {
  const io::Tensor& tensor = at(name);
  Matrix m = tensor.matrix();
  if (m.rows != rows || m.cols != cols)
    fail(ErrorCode::model_mismatch, "{}: tensor \"{}\": expected shape [{}, {}], found {}", file_,
         tensor.name, rows, cols, io::shape_text(tensor.shape));
  if (!usable(m.dtype))
    fail(ErrorCode::unsupported, "{}: tensor \"{}\": type {} cannot hold weights", file_, tensor.name,
         dtype_name(m.dtype));
  if (m.dtype == DType::i8) m.row_scales = vector(owner, std::string(name) + "_scale", rows).on_host<float>();
  const std::int64_t heads = permuted_heads_(name);
  if (heads > 0 || !aligned(tensor)) {
    std::byte* copy = own(owner, tensor.bytes.size());
    if (heads > 0) {
      io::unpermute_rows(copy, tensor.bytes.data(), rows, m.row_size_bytes(), heads);
    } else {
      std::memcpy(copy, tensor.bytes.data(), tensor.bytes.size());
    }
    m.data = copy;
  }
  return m;
}

Matrix TensorSource::matrix_if_present(Weights& owner, std::string_view name, std::int64_t rows,
                                       std::int64_t cols) const {
  return find_(name) ? matrix(owner, name, rows, cols) : Matrix{};
}

ConstTensor TensorSource::vector(Weights& owner, std::string_view name, std::int64_t n) const {
  const io::Tensor& tensor = at(name);
  if (tensor.elements() != n || !is_float(tensor.dtype))
    fail(ErrorCode::model_mismatch, "{}: tensor \"{}\": expected {} floats, found {} of type {}", file_,
         tensor.name, n, io::shape_text(tensor.shape), dtype_name(tensor.dtype));
  auto values = std::make_shared<std::vector<float>>(io::dequantise(tensor));
  // These are small. Matrices are not read at the start: what they give is looked at in every pass.
  if (!all_finite(*values))
    fail(ErrorCode::corrupt, "{}: tensor \"{}\": holds NaN or infinity; the file is damaged: get it again",
         file_, tensor.name);
  const ConstTensor view(values->data(), DType::f32, {n});
  owner.owners.push_back(std::move(values));
  return view;
}

}  // namespace mplus::model
