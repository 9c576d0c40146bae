#include "mplus/train/checkpoint.h"

#include <fmt/core.h>

#include <charconv>
#include <functional>
#include <span>

#include "mplus/core/error.h"
#include "mplus/io/safetensors.h"

namespace mplus::train {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kFormat = "mplus-checkpoint-1";

DType file_type(const Tensor& tensor) {
  if (tensor.scalar_type() == torch::kFloat32) return DType::f32;
  MPLUS_CHECK(tensor.scalar_type() == torch::kUInt8, "a checkpoint holds float32 and bytes only");
  return DType::u8;
}

// Every tensor of a run by the name it has in the file.
void for_each(AdamW& optimizer, const std::function<void(const std::string&, Tensor&)>& visit) {
  for (std::size_t i = 0; i < optimizer.trained().size(); ++i) {
    const Trained& trained = optimizer.trained()[i];
    AdamW::Moments& moments = optimizer.moments()[i];
    Tensor tensor = trained.tensor;
    visit(trained.name, tensor);
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

}  // namespace

void save_checkpoint(const fs::path& file, AdamW& optimizer, const at::Generator& generator,
                     const Progress& progress) {
  std::vector<Tensor> kept;  // on the CPU and contiguous, until the file is written
  std::vector<io::TensorData> tensors;
  const auto add = [&](const std::string& name, const Tensor& tensor) {
    const Tensor& copy = kept.emplace_back(tensor.detach().to(torch::kCPU).contiguous());
    tensors.push_back({name,
                       file_type(copy),
                       copy.sizes().vec(),
                       {static_cast<const std::byte*>(copy.const_data_ptr()), copy.nbytes()}});
  };
  for_each(optimizer, add);
  add("generator", generator.get_state());
  io::write_safetensors(file, tensors,
                        {{"format", std::string(kFormat)},
                         {"step", fmt::format("{}", progress.step)},
                         {"seconds", fmt::format("{}", progress.seconds)}});
}

Progress load_checkpoint(const fs::path& path, AdamW& optimizer, at::Generator& generator) {
  const io::Safetensors file = io::Safetensors::open(path);
  const auto format = file.metadata().find("format");
  if (format == file.metadata().end() || format->second != kFormat)
    fail(ErrorCode::unsupported, "{}: expected a checkpoint of format {}, found {}", path.string(), kFormat,
         format == file.metadata().end() ? "none" : format->second);
  const torch::NoGradGuard constant;
  std::size_t wanted = 1;
  for_each(optimizer, [&](const std::string& name, Tensor& tensor) {
    tensor.copy_(content(file, name, tensor));
    ++wanted;
  });
  if (file.tensors().size() != wanted)
    fail(ErrorCode::model_mismatch, "{}: expected {} tensors, found {}: another set of parts was trained",
         path.string(), wanted, file.tensors().size());
  generator.set_state(content(file, "generator", generator.get_state()).clone());
  return {.step = number<std::int64_t>(file, "step"), .seconds = number<double>(file, "seconds")};
}

}  // namespace mplus::train
