#include "mplus/train/model/files/tensor_file.h"

#include "mplus/core/error.h"
#include "mplus/io/weights/safetensors_writer.h"

namespace mplus::train {

void TensorFile::add(std::string name, const Tensor& tensor, std::vector<std::int64_t> shape, DType type) {
  MPLUS_CHECK(type == DType::f32 || type == DType::bf16, "{} as {}", name, dtype_name(type));
  const torch::Dtype wanted = type == DType::bf16 ? torch::kBFloat16 : torch::kFloat32;
  const Tensor& copy = kept_.emplace_back(tensor.detach().to(torch::kCPU, wanted).contiguous());
  tensors_.push_back({std::move(name),
                      type,
                      std::move(shape),
                      {static_cast<const std::byte*>(copy.const_data_ptr()), copy.nbytes()}});
}

void TensorFile::write(const std::filesystem::path& file, const io::StringMap& metadata) const {
  io::write_safetensors(file, tensors_, metadata, Readers::by_umask);
}

}  // namespace mplus::train
