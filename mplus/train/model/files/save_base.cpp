#include "mplus/train/model/files/save_base.h"

#include "mplus/core/files/file.h"
#include "mplus/io/text/text_side.h"
#include "mplus/train/model/files/tensor_file.h"

namespace mplus::train {

void save_base(Model& model, const std::filesystem::path& source, const std::filesystem::path& folder,
               DType type) {
  std::filesystem::create_directories(folder);
  io::write_text_side(source, folder);
  write_text_file(folder / "config.json",
                  io::hf_config_json(model.config, type == DType::bf16 ? "bfloat16" : "float32"),
                  Readers::by_umask);
  TensorFile weights;
  for (const Parameter& p : parameters(model)) {
    if (p.part != ParameterPart::base) continue;
    if (!p.stacked()) weights.add(p.name, *p.tensor, p.shape, type);
    else
      for (std::size_t l = 0; l < p.layers.size(); ++l)
        weights.add(p.layer_name(l), p.tensor->select(0, static_cast<std::int64_t>(l)), p.shape, type);
  }
  weights.write(folder / "model.safetensors", {{"format", "pt"}});
}

}  // namespace mplus::train
