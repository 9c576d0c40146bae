#include "mplus/train/model/save_delta.h"

namespace mplus::train {

void save_delta(Model& model, const std::filesystem::path& file, const io::StringMap& record) {
  std::vector<Tensor> kept;  // until the file is written
  std::vector<io::TensorData> tensors;
  const auto add = [&](std::string name, const Tensor& tensor, std::vector<std::int64_t> shape, DType type) {
    const Tensor& copy =
        kept.emplace_back(tensor.detach()
                              .to(torch::kCPU, type == DType::bf16 ? torch::kBFloat16 : torch::kFloat32)
                              .contiguous());
    tensors.push_back({std::move(name),
                       type,
                       std::move(shape),
                       {static_cast<const std::byte*>(copy.const_data_ptr()), copy.nbytes()}});
  };
  for (const Parameter& p : parameters(model)) {
    if (p.part == Part::base) continue;
    if (p.stacked)
      for (std::int64_t l = 0; l < model.config.layers; ++l)
        add(p.layer_name(l), p.tensor->select(0, l), p.shape, DType::bf16);
    else if (p.tensor == &model.bos)  // the published shapes
      add(p.name, *p.tensor, {model.config.layers, 1, model.config.hidden}, DType::bf16);
    else if (p.tensor == &model.positional) add(p.name, *p.tensor, {1, 1, model.config.hidden}, DType::bf16);
    else add(p.name, *p.tensor, p.shape, DType::f32);
  }
  io::StringMap metadata = io::delta_metadata(model.memory);
  metadata.insert(record.begin(), record.end());
  io::write_safetensors(file, tensors, metadata);
}

}  // namespace mplus::train
