#include "mplus/train/run/files/checkpoint.h"

#include <fmt/core.h>

#include <charconv>
#include <set>
#include <span>

#include "mplus/core/error.h"
#include "mplus/io/weights/safetensors.h"
#include "mplus/train/model/files/tensor_file.h"

namespace mplus::train {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kFormat = "mplus-checkpoint-2";

DType file_type(const Tensor& tensor) {
  MPLUS_CHECK(tensor.scalar_type() == torch::kFloat32, "a checkpoint holds float32 only");
  return DType::f32;
}

struct Named {
  std::string name;
  Tensor tensor;
};

// What is saved of the model, and what else is trained.
std::vector<Named> weights(Model& model, const AdamW& optimizer) {
  std::vector<Named> list;
  std::set<std::string> seen;
  for (const Parameter& p : parameters(model))
    if (p.part != ParameterPart::base || model.base_trained) {
      list.push_back({p.name, *p.tensor});
      seen.insert(p.name);
    }
  for (const Trained& trained : optimizer.trained())
    if (!seen.contains(trained.name)) list.push_back({trained.name, trained.tensor});
  return list;
}

constexpr const char *kFirst = ".first_moment", *kSecond = ".second_moment", *kSteps = ".steps";

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

std::string text(const io::Safetensors& file, const char* key) {
  const auto at = file.metadata().find(key);
  return at == file.metadata().end() ? std::string() : at->second;
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
          .seconds = number<double>(file, "seconds"),
          .warm_up_from =
              file.metadata().contains("warm_up_from") ? number<std::int64_t>(file, "warm_up_from") : 0,
          .recipe = text(file, "recipe"),
          .data = text(file, "data")};
}

}  // namespace

void save_checkpoint(const fs::path& file, Model& model, AdamW& optimizer, const Progress& progress) {
  const std::vector<AdamW::Moments> moments = optimizer.moments();
  if (optimizer.processes() && !optimizer.processes()->is_first()) return;
  TensorFile out;
  const auto add = [&](const std::string& name, const Tensor& tensor) {
    out.add(name, tensor, tensor.sizes().vec(), file_type(tensor));
  };
  for (const Named& weight : weights(model, optimizer)) add(weight.name, weight.tensor);
  for (std::size_t i = 0; i < moments.size(); ++i) {
    const std::string& name = optimizer.trained()[i].name;
    add(name + kFirst, moments[i].first);
    add(name + kSecond, moments[i].second);
    add(name + kSteps, moments[i].steps);
  }
  out.write(file, {{"format", std::string(kFormat)},
                   {"stage", fmt::format("{}", progress.stage)},
                   {"step", fmt::format("{}", progress.step)},
                   {"seconds", fmt::format("{}", progress.seconds)},
                   {"warm_up_from", fmt::format("{}", progress.warm_up_from)},
                   {"recipe", progress.recipe},
                   {"data", progress.data}});
}

void match_parts(const fs::path& path, Model& model) {
  const io::Safetensors file = open_checkpoint(path);
  const auto match = [&](const char* name, Tensor& tensor, at::IntArrayRef shape) {
    if (!file.find(name)) tensor = Tensor();
    else if (!tensor.defined()) tensor = torch::zeros(shape, torch::TensorOptions(model.device()));
  };
  match("vote_weights", model.vote_weights, {model.memory_layers()});
  match("vector_pool", model.vector_pool, {model.memory_layers(), model.config.hidden});
  model.base_trained = file.find("model.embed_tokens.weight") != nullptr;
}

Progress load_checkpoint(const fs::path& path, Model& model, AdamW& optimizer) {
  const io::Safetensors file = open_checkpoint(path);
  const torch::NoGradGuard constant;
  std::vector<Named> list = weights(model, optimizer);
  for (Named& weight : list) weight.tensor.copy_(content(file, weight.name, weight.tensor));
  const Tensor number = torch::zeros({});
  for (std::size_t i = 0; i < optimizer.trained().size(); ++i) {
    const Trained& t = optimizer.trained()[i];
    optimizer.set_moments(i, {.first = content(file, t.name + kFirst, t.tensor),
                              .second = content(file, t.name + kSecond, t.tensor),
                              .steps = content(file, t.name + kSteps, number)});
  }
  const std::size_t wanted = list.size() + 3 * optimizer.trained().size();
  if (file.tensors().size() != wanted)
    fail(ErrorCode::model_mismatch, "{}: expected {} tensors, found {}: another set of parts was trained",
         path.string(), wanted, file.tensors().size());
  return progress_of(file);
}

Progress checkpoint_progress(const fs::path& path) { return progress_of(open_checkpoint(path)); }

}  // namespace mplus::train
