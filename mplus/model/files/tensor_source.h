// Where a loader finds tensors, whatever the file format: by their Hugging Face names.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "mplus/io/gguf/gguf.h"
#include "mplus/io/weights/llama2c.h"
#include "mplus/io/weights/safetensors.h"
#include "mplus/model/weights.h"

namespace mplus::model {

class TensorSource {
 public:
  static TensorSource from(const io::Safetensors& file);
  static TensorSource from(const io::Gguf& file, const io::ModelConfig& config);
  static TensorSource from(const io::Llama2cModel& file, std::string name);

  const io::Tensor* find(std::string_view name) const { return find_(name); }
  const io::Tensor& at(std::string_view name) const;
  const std::string& file() const { return file_; }

  // A matrix [rows, cols] of the weights, in the file's type. Copies only where the file's bytes cannot be
  // used as they lie: misaligned, or rows in GGUF's order.
  Matrix matrix(Weights& owner, std::string_view name, std::int64_t rows, std::int64_t cols) const;
  Matrix matrix_if_present(Weights& owner, std::string_view name, std::int64_t rows, std::int64_t cols) const;
  // [n] floats, converted.
  ConstTensor vector(Weights& owner, std::string_view name, std::int64_t n) const;

 private:
  std::function<const io::Tensor*(std::string_view)> find_;
  std::function<std::int64_t(std::string_view)>
      permuted_heads_;  // 0: rows are in the half-split order already
  std::string file_;
};

}  // namespace mplus::model
