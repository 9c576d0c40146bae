#include <ATen/Parallel.h>
#include <fmt/core.h>

#include "mplus/io/gguf.h"
#include "mplus/io/hash.h"
#include "mplus/train/evaluation/evaluate.h"
#include "mplus/train/model/device.h"
#include "mplus/train/model/load.h"

namespace mplus::train {
namespace {

namespace fs = std::filesystem;

io::Tokenizer tokenizer_of(const fs::path& model) {
  return fs::is_directory(model) ? io::Tokenizer::from_file(model / "tokenizer.json")
                                 : io::Tokenizer::from_gguf(io::Gguf::open(model));
}

}  // namespace

void evaluate(const EvaluateFiles& files, const EvaluateOptions& options) {
  const torch::Device device = device_named(files.device);
  const io::Tokenizer tokenizer = tokenizer_of(files.model);
  const EvaluationPlan plan = read_plan(files.plan, tokenizer);
  Model model = load_model({.model = files.model, .delta = files.delta}).model;
  place(model, device, device.is_cuda() ? torch::kBFloat16 : torch::kFloat32);
  const std::string name = device_name(device);
  AnswerFile answers(files.out, {{"schema", "mplus-eval-answers"},
                                 {"version", 1},
                                 {"plan", plan.name},
                                 {"model", files.model.filename().string()},
                                 {"delta", files.delta.filename().string()},
                                 {"delta_sha256", io::sha256_hex(files.delta)},
                                 {"numerics", device.is_cuda() ? "torch-cuda-bfloat16" : "torch-cpu-float32"},
                                 {"machine", {{"cpu", name}, {"threads", at::get_num_threads()}}},
                                 {"command", files.command}});
  evaluate(model, plan, tokenizer, options, answers);
  fmt::print(stderr, "{}: {} answers\n", files.out.string(), answers.answers());
}

}  // namespace mplus::train
