// Tensors on their way into a safetensors file, in the element type that was asked for. What has that type
// already is written as it lies; the rest is converted when it is added.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mplus/core/tensors/buffer.h"
#include "mplus/io/weights/safetensors.h"

namespace mplus::model {

class TensorOutput {
 public:
  // f32, bf16, f16, or i8: rows of integers, each tensor followed by its "<name>_scale".
  explicit TensorOutput(DType dtype) : dtype_(dtype) {}

  DType dtype() const { return dtype_; }
  void add(const std::string& name, const Matrix& matrix);
  // Vectors and the like: never as integers (bf16 beside them).
  void add(const std::string& name, std::vector<std::int64_t> shape, const float* values);
  void add_f32(const std::string& name, std::vector<std::int64_t> shape, const std::vector<float>& values);
  void add_bytes(const std::string& name, DType dtype, std::vector<std::int64_t> shape,
                 std::vector<std::byte> bytes);
  void write(const std::filesystem::path& file, const io::StringMap& metadata) const;

 private:
  std::span<const std::byte> keep(std::vector<std::byte> bytes);

  DType dtype_;
  std::vector<io::TensorData> tensors_;
  std::vector<std::shared_ptr<const std::vector<std::byte>>> kept_;
};

// Floats as bytes of a float type, rounded to nearest even.
std::vector<std::byte> encode_floats(std::span<const float> values, DType dtype);

// Every row of a matrix as floats.
std::vector<float> decode_matrix(const Matrix& matrix);

}  // namespace mplus::model
