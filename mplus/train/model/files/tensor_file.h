// Torch tensors on their way into a safetensors file.
#pragma once

#include <deque>
#include <filesystem>
#include <string>
#include <vector>

#include "mplus/io/weights/safetensors.h"
#include "mplus/train/torch.h"

namespace mplus::train {

class TensorFile {
 public:
  // In the given type (f32 or bf16) and shape, whatever device the tensor is on.
  void add(std::string name, const Tensor& tensor, std::vector<std::int64_t> shape, DType type);
  void write(const std::filesystem::path& file, const io::StringMap& metadata) const;  // atomically

 private:
  std::deque<Tensor> kept_;  // what tensors_ points to
  std::vector<io::TensorData> tensors_;
};

}  // namespace mplus::train
