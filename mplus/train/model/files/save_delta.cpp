#include "mplus/train/model/files/save_delta.h"

#include "mplus/train/model/files/tensor_file.h"

namespace mplus::train {

void save_delta(Model& model, const std::filesystem::path& file, const io::StringMap& record) {
  TensorFile out;
  const std::int64_t L = model.config.layers, d = model.config.hidden;
  for (const Parameter& p : parameters(model)) {
    if (p.part == ParameterPart::base) continue;
    if (p.stacked())
      for (std::size_t i = 0; i < p.layers.size(); ++i)
        out.add(p.layer_name(i), p.tensor->select(0, static_cast<std::int64_t>(i)), p.shape, DType::bf16);
    else if (p.tensor == &model.bos) out.add(p.name, *p.tensor, {L, 1, d}, DType::bf16);  // published shapes
    else if (p.tensor == &model.positional) out.add(p.name, *p.tensor, {1, 1, d}, DType::bf16);
    else out.add(p.name, *p.tensor, p.shape, DType::f32);
  }
  io::StringMap metadata = record;
  metadata.merge(io::delta_metadata(model.memory));
  out.write(file, metadata);
}

}  // namespace mplus::train
