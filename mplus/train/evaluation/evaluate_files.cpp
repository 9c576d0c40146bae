#include <ATen/Parallel.h>
#include <fmt/core.h>

#include "mplus/core/error.h"
#include "mplus/io/text/hash.h"
#include "mplus/io/text/text_side.h"
#include "mplus/train/evaluation/evaluate.h"
#include "mplus/train/model/device.h"
#include "mplus/train/model/files/load.h"

namespace mplus::train {

void evaluate(const EvaluateFiles& files, const EvaluateOptions& options) {
  const torch::Device device = device_named(files.device);
  const std::optional<io::TextSide> text = io::read_text_side(files.model);
  if (!text) fail(ErrorCode::not_found, "{}: brings no tokenizer", files.model.string());
  const EvaluationPlan plan = read_plan(files.plan, text->tokenizer);
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
  evaluate(model, plan, text->tokenizer, options, answers);
  fmt::print(stderr, "{}: {} answers\n", files.out.string(), answers.answers());
}

}  // namespace mplus::train
