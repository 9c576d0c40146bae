#include <ATen/Parallel.h>
#include <fmt/core.h>

#include "mplus/core/error.h"
#include "mplus/io/text/hash.h"
#include "mplus/io/text/text_side.h"
#include "mplus/train/evaluation/evaluate.h"
#include "mplus/train/model/device.h"
#include "mplus/train/model/files/load.h"

namespace mplus::train {
namespace {

std::filesystem::path answers_file(const std::filesystem::path& out, const EvaluateOptions& options,
                                   RowFormat rows) {
  if (options.rows.size() == 1) return out;
  return out.parent_path() /
         fmt::format("{}.{}{}", out.stem().string(), row_format_name(rows), out.extension().string());
}

// As the engine names its own (Engine::numerics_id).
std::string numerics_of(const torch::Device& device, RowFormat rows) {
  const std::string id = device.is_cuda() ? "torch-cuda-bfloat16" : "torch-cpu-float32";
  return rows == RowFormat::plain ? id : fmt::format("{}-{}.{}", id, row_format_name(rows), kSmallRowVersion);
}

}  // namespace

void evaluate(const EvaluateFiles& files, const EvaluateOptions& options) {
  const torch::Device device = device_named(files.device);
  const std::optional<io::TextSide> text = io::read_text_side(files.model);
  if (!text) fail(ErrorCode::not_found, "{}: brings no tokenizer", files.model.string());
  const EvaluationPlan plan = read_plan(files.plan, text->tokenizer);
  Model model = load_model({.model = files.model, .delta = files.delta}).model;
  place(model, device, device.is_cuda() ? torch::kBFloat16 : torch::kFloat32);
  AnswerJson head{{"schema", "mplus-eval-answers"},
                  {"version", 1},
                  {"plan", plan.name},
                  {"model", files.model.filename().string()},
                  {"delta", files.delta.filename().string()},
                  {"delta_sha256", io::sha256_hex(files.delta)},
                  {"numerics", ""},
                  {"machine", {{"cpu", device_name(device)}, {"threads", at::get_num_threads()}}},
                  {"command", files.command}};
  std::vector<AnswerFile> answers;
  for (const RowFormat rows : options.rows) {
    head["numerics"] = numerics_of(device, rows);
    answers.emplace_back(answers_file(files.out, options, rows), head);
  }
  evaluate(model, plan, text->tokenizer, options, answers);
  for (std::size_t i = 0; i < answers.size(); ++i)
    fmt::print(stderr, "{}: {} answers\n", answers_file(files.out, options, options.rows[i]).string(),
               answers[i].answers());
}

}  // namespace mplus::train
