#include "mplus/model/files/tensor_output.h"

#include <cstring>

#include "mplus/core/error.h"
#include "mplus/core/numbers/float16.h"
#include "mplus/io/weights/dequantise.h"
#include "mplus/io/weights/quantise.h"
#include "mplus/io/weights/safetensors_writer.h"

namespace mplus::model {
namespace {

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

std::vector<std::byte> encode_floats(std::span<const float> values, DType dtype) {
  MPLUS_CHECK(is_float(dtype), "{} is no float type", dtype_name(dtype));
  if (dtype == DType::f32) {
    const auto bytes = std::as_bytes(values);
    return {bytes.begin(), bytes.end()};
  }
  std::vector<std::uint16_t> halves(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    halves[i] = dtype == DType::bf16 ? f32_to_bf16(values[i]) : f32_to_f16(values[i]);
  return bytes_of(halves);
}

std::vector<float> decode_matrix(const Matrix& matrix) {
  std::vector<float> values(static_cast<std::size_t>(matrix.rows * matrix.cols));
  for (std::int64_t r = 0; r < matrix.rows; ++r)
    io::dequantise_row(values.data() + r * matrix.cols, matrix, r);
  return values;
}

std::span<const std::byte> TensorOutput::keep(std::vector<std::byte> bytes) {
  kept_.push_back(std::make_shared<const std::vector<std::byte>>(std::move(bytes)));
  return *kept_.back();
}

void TensorOutput::add(const std::string& name, const Matrix& m) {
  if (m.dtype == dtype_) {
    const auto* data = static_cast<const std::byte*>(m.data);
    const std::size_t size = static_cast<std::size_t>(m.rows) * m.row_size_bytes();
    tensors_.push_back({name, dtype_, {m.rows, m.cols}, {data, size}});
    if (dtype_ == DType::i8) add_f32(name + "_scale", {m.rows, 1}, {m.row_scales, m.row_scales + m.rows});
    return;
  }
  const std::vector<float> values = decode_matrix(m);
  if (dtype_ == DType::i8) {
    const io::Int8Rows rows = io::quantise_rows(values, m.rows, m.cols);
    add_bytes(name, DType::i8, {m.rows, m.cols}, bytes_of(rows.values));
    add_f32(name + "_scale", {m.rows, 1}, rows.scales);
  } else {
    add_bytes(name, dtype_, {m.rows, m.cols}, encode_floats(values, dtype_));
  }
}

void TensorOutput::add(const std::string& name, std::vector<std::int64_t> shape, const float* values) {
  const auto n = static_cast<std::size_t>(*io::element_count(shape));
  const DType dtype = dtype_ == DType::i8 ? DType::bf16 : dtype_;
  add_bytes(name, dtype, std::move(shape), encode_floats({values, n}, dtype));
}

void TensorOutput::add_f32(const std::string& name, std::vector<std::int64_t> shape,
                           const std::vector<float>& values) {
  add_bytes(name, DType::f32, std::move(shape), bytes_of(values));
}

void TensorOutput::add_bytes(const std::string& name, DType dtype, std::vector<std::int64_t> shape,
                             std::vector<std::byte> bytes) {
  tensors_.push_back({name, dtype, std::move(shape), keep(std::move(bytes))});
}

void TensorOutput::write(const std::filesystem::path& file, const io::StringMap& metadata) const {
  io::write_safetensors(file, tensors_, metadata, Readers::by_umask);
}

}  // namespace mplus::model
