#include "mplus/train/checkpoint.h"

#include <fmt/core.h>

#include <charconv>
#include <functional>
#include <set>
#include <span>

#include "mplus/core/error.h"
#include "mplus/io/safetensors.h"

namespace mplus::train {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kFormat = "mplus-checkpoint-2";

DType file_type(const Tensor& tensor) {
  MPLUS_CHECK(tensor.scalar_type() == torch::kFloat32, "a checkpoint holds float32 only");
  return DType::f32;
}

// Every tensor of a run by the name it has in the file.
void for_each(Model& model, AdamW& optimizer, const std::function<void(const std::string&, Tensor&)>& visit) {
  std::set<std::string> seen;
  for (const Parameter& p : parameters(model))
    if (p.part != Part::base || p.tensor->requires_grad()) {
      visit(p.name, *p.tensor);
      seen.insert(p.name);
    }
  for (std::size_t i = 0; i < optimizer.trained().size(); ++i) {
    const Trained& trained = optimizer.trained()[i];
    AdamW::Moments& moments = optimizer.moments()[i];
    Tensor tensor = trained.tensor;
    if (!seen.contains(trained.name)) visit(trained.name, tensor);
    visit(trained.name + ".first_moment", moments.first);
    visit(trained.name + ".second_moment", moments.second);
    visit(trained.name + ".steps", moments.steps);
  }
}

template <class T>
T number(const io::Safetensors& file, const char* key) {
  const auto at = file.metadata().find(key);
  T value{};
  if (at != file.metadata().end()) {
    const std::string& text = at->second;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc{} && stop == text.data() + text.size()) return value;
  }
  fail(ErrorCode::corrupt, "{}: metadata '{}': expected a number, found {}", file.path().string(), key,
       at == file.metadata().end() ? "nothing" : at->second);
}

Tensor content(const io::Safetensors& file, const std::string& name, const Tensor& like) {
  const DType type = file_type(like);
  const std::vector<std::int64_t> shape = like.sizes().vec();
  const io::Tensor& found = file.at(name, std::span(&type, 1), std::span<const std::int64_t>(shape));
  // A view of the mapped file, which torch only takes as writable; it is copied from and nothing else.
  return torch::from_blob(const_cast<std::byte*>(found.bytes.data()), like.sizes(), like.scalar_type());
}

io::Safetensors open_checkpoint(const fs::path& path) {
  io::Safetensors file = io::Safetensors::open(path);
  const auto format = file.metadata().find("format");
  if (format == file.metadata().end() || format->second != kFormat)
    fail(ErrorCode::unsupported, "{}: expected a checkpoint of format {}, found {}", path.string(), kFormat,
         format == file.metadata().end() ? "none" : format->second);
  return file;
}

Progress progress_of(const io::Safetensors& file) {
  return {.stage = number<std::int64_t>(file, "stage"),
          .step = number<std::int64_t>(file, "step"),
          .seconds = number<double>(file, "seconds")};
}

}  // namespace

void save_checkpoint(const fs::path& file, Model& model, AdamW& optimizer, const Progress& progress) {
  std::vector<Tensor> kept;  // on the CPU and contiguous, until the file is written
  std::vector<io::TensorData> tensors;
  const auto add = [&](const std::string& name, const Tensor& tensor) {
    const Tensor& copy = kept.emplace_back(tensor.detach().to(torch::kCPU).contiguous());
    tensors.push_back({name,
                       file_type(copy),
                       copy.sizes().vec(),
                       {static_cast<const std::byte*>(copy.const_data_ptr()), copy.nbytes()}});
  };
  for_each(model, optimizer, add);
  io::write_safetensors(file, tensors,
                        {{"format", std::string(kFormat)},
                         {"stage", fmt::format("{}", progress.stage)},
                         {"step", fmt::format("{}", progress.step)},
                         {"seconds", fmt::format("{}", progress.seconds)}});
}

Progress load_checkpoint(const fs::path& path, Model& model, AdamW& optimizer) {
  const io::Safetensors file = open_checkpoint(path);
  const torch::NoGradGuard constant;
  std::size_t wanted = 0;
  if (file.find("vote_weights") && !model.vote_weights.defined())
    model.vote_weights = torch::ones({model.config.layers}, torch::TensorOptions(model.device()));
  for_each(model, optimizer, [&](const std::string& name, Tensor& tensor) {
    tensor.copy_(content(file, name, tensor));
    ++wanted;
  });
  if (file.tensors().size() != wanted)
    fail(ErrorCode::model_mismatch, "{}: expected {} tensors, found {}: another set of parts was trained",
         path.string(), wanted, file.tensors().size());
  return progress_of(file);
}

Progress checkpoint_progress(const fs::path& path) { return progress_of(open_checkpoint(path)); }

}  // namespace mplus::train
