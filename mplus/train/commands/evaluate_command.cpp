#include "mplus/train/commands/evaluate_command.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "mplus/train/evaluation/evaluate.h"
#include "mplus/train/run/failure.h"

namespace mplus::train {
namespace {

// What is wrong with it; empty: nothing.
std::string read_part(const std::string& text, EvaluateOptions& options) {
  std::size_t used = 0;
  const bool read =
      std::sscanf(text.c_str(), "%" SCNd64 "/%" SCNd64 "%zn", &options.part, &options.parts, &used) == 2;
  const bool right = read && used == text.size() && 1 <= options.part && options.part <= options.parts;
  return right ? "" : "expected I/N with 1 ≤ I ≤ N, such as 2/4";
}

std::vector<RowFormat> formats_of(const std::vector<std::string>& names) {
  std::vector<RowFormat> formats;
  for (const std::string& name : names) {
    const RowFormat format = row_format_from_name(name).value();
    if (std::find(formats.begin(), formats.end(), format) == formats.end()) formats.push_back(format);
  }
  return formats;
}

}  // namespace

int evaluate_command(int argc, char** argv, const std::atomic<bool>& stop) {
  CLI::App app{
      "Carries out a plan that `mplus eval TASK … --plan PLAN` wrote: all its memories side by side, on a "
      "GPU "
      "in bfloat16,\n"
      "else in float32. FILE gets the answers; `mplus eval TASK … --answers FILE --report DIR`, with the "
      "options of the\n"
      "plan, judges and reports them."};
  app.name("mplus-train evaluate");
  EvaluateFiles files;
  EvaluateOptions options;
  options.stop = &stop;
  app.add_option("PLAN", files.plan, "the plan, plain or compressed with xz or zstd")
      ->type_name("FILE")
      ->required();
  app.add_option("-m,--model", files.model, "base model: a GGUF or a Hugging Face folder")
      ->type_name("FILE|DIR")
      ->required();
  app.add_option("--delta", files.delta, "the delta to be judged")->type_name("FILE")->required();
  app.add_option("--out", files.out, "gets the answers")->type_name("FILE")->required();
  app.add_option("--columns", options.columns, "what to run beside each other; default: all")
      ->type_name("LIST")
      ->delimiter(',')
      ->check(CLI::IsMember(evaluation_columns()));
  app.add_option("--device", files.device, "cpu, cuda or auto")
      ->check(CLI::IsMember({"cpu", "cuda", "auto"}))
      ->capture_default_str();
  app.add_option("--streams", options.streams, "memories at a time")
      ->type_name("N")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--at-once", options.at_once, "questions read in one pass; default: as suits the device")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  std::vector<std::string> rows{"plain"};
  app.add_option("--rows", rows,
                 "how long-term rows are kept: plain, int8, int4; of several, FILE.jsonl becomes "
                 "FILE.int8.jsonl and so on")
      ->type_name("LIST")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::IsMember({"plain", "int8", "int4"}));
  std::string part;
  app.add_option("--part", part, "only a share of the plan's memories, such as 2/4")
      ->type_name("I/N")
      ->check([&](const std::string& text) { return read_part(text, options); });
  CLI11_PARSE(app, argc, argv);
  options.rows = formats_of(rows);
  files.command = "mplus-train";
  for (int i = 0; i < argc; ++i) files.command.append(" ").append(argv[i]);
  try {
    evaluate(files, options);
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "mplus-train: {}\n",
               failure_text(e, "Lower --streams (memories at a time) or --at-once (questions in one pass)"));
    return stop ? 130 : 1;
  }
}

}  // namespace mplus::train
