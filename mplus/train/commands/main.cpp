// mplus-train CONFIG --out DIR: trains an M+ delta (docs/training.md). mplus-train evaluate PLAN: measures
// one. mplus-train questions TEXT…: makes up questions to train with. mplus-train average DELTA…: what
// several have in common. mplus-train plot LOG SVG: draws a run.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "mplus/core/error.h"
#include "mplus/train/commands/average_command.h"
#include "mplus/train/commands/evaluate_command.h"
#include "mplus/train/commands/plot_command.h"
#include "mplus/train/commands/questions_command.h"
#include "mplus/train/processes/processes.h"
#include "mplus/train/run/failure.h"
#include "mplus/train/run/run.h"

namespace {

std::atomic<bool> stop{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void ask_to_stop(int) {
  if (stop.exchange(true)) std::_Exit(130);  // the second time: at once
}

std::filesystem::path default_cache() {
  if (const char* home = std::getenv("MPLUS_HOME")) return std::filesystem::path(home) / "cache";
  if (const char* data = std::getenv("XDG_DATA_HOME")) return std::filesystem::path(data) / "mplus/cache";
  if (const char* home = std::getenv("HOME")) return std::filesystem::path(home) / ".local/share/mplus/cache";
  return {};
}

void add_options(CLI::App& app, std::string& config, mplus::train::RunOptions& options) {
  app.add_option("CONFIG", config, "the run's configuration")->type_name("FILE")->required();
  app.add_option("--out", options.out, "folder of the run")->type_name("DIR")->required();
  app.add_option("--device", options.device, "cpu, cuda or auto")
      ->check(CLI::IsMember({"cpu", "cuda", "auto"}))
      ->capture_default_str();
  app.add_option("--minutes", options.minutes, "stop, to be resumed, after so many minutes")->type_name("N");
  app.add_option("--checkpoint-minutes", options.checkpoint_minutes, "time between checkpoints")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--report-steps", options.report_steps, "steps between lines of the log")
      ->type_name("N")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--profile", options.profile_steps,
                 "print what the time of so many steps of every stage goes to, kernel by kernel")
      ->type_name("N");
  app.add_option("--cache", options.cache, "folder of tokenised data")->type_name("DIR");
  app.add_option(
         "--travel", options.travel,
         "folder that gets every checkpoint packed small, in pieces; a run without a checkpoint goes on "
         "from there")
      ->type_name("DIR");
  app.add_option("--travel-mib", options.travel_mebibytes,
                 "most MiB in that folder: moments get what weights leave")
      ->type_name("N")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--changed-recipe", options.changed_recipe,
               "go on from a checkpoint although it was made with another CONFIG or other data");
  app.add_option("--process-timeout", options.process_timeout_seconds,
                 "how long the processes of a run wait for each other")
      ->type_name("SECONDS")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--base-dtype", options.base_dtype,
                 "of the base's weights, where they are trained: bf16, f32")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, mplus::DType>{{"bf16", mplus::DType::bf16}, {"f32", mplus::DType::f32}}))
      ->type_name("TYPE")
      ->default_str("bf16");
  app.add_option("--commit", options.commit, "what the record calls this version of the trainer")
      ->type_name("TEXT");
}

int run_program(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "evaluate")
    return mplus::train::evaluate_command(argc - 1, argv + 1, stop);
  if (argc > 1 && std::string_view(argv[1]) == "questions")
    return mplus::train::questions_command(argc - 1, argv + 1, stop);
  if (argc > 1 && std::string_view(argv[1]) == "average")
    return mplus::train::average_command(argc - 1, argv + 1);
  if (argc > 1 && std::string_view(argv[1]) == "plot") return mplus::train::plot_command(argc - 1, argv + 1);
  CLI::App app{
      "Trains an M+ delta: two low-rank adapters, vectors and the retriever that give a Llama a long-term\n"
      "memory. CONFIG (TOML) names the base model, the delta to go on from, the data and the stages; see\n"
      "docs/training.md and train/recipes/. DIR gets log.jsonl, losses.svg (where gnuplot is installed),\n"
      "checkpoint.safetensors and, after each stage, delta.safetensors, which `mplus --delta` reads, with\n"
      "a folder base where the base is trained, too. Started again with the same DIR, a run goes on where\n"
      "it stopped; Ctrl-C stops it at the next step that can be gone on from, and saves; a second one at\n"
      "once. `mplus-train evaluate --help` tells how a delta is measured, `mplus-train questions --help`\n"
      "how questions are made up to train with, `mplus-train average --help` how deltas are averaged,\n"
      "`mplus-train plot --help` how a log is drawn."};
  app.name("mplus-train");
  std::string config;
  mplus::train::RunOptions options;
  options.cache = default_cache();
  add_options(app, config, options);
  CLI11_PARSE(app, argc, argv);
  options.stop = &stop;
  const auto end = mplus::train::run(mplus::train::load_run_config(config), options);
  if (mplus::train::process_place().share.process == 0)
    fmt::print("{}: {}\n", end == mplus::train::RunEnd::finished ? "finished" : "stopped, to be resumed",
               (options.out / "delta.safetensors").string());
  return end == mplus::train::RunEnd::finished || !stop ? 0 : 130;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGINT, ask_to_stop);
  std::signal(SIGTERM, ask_to_stop);
  std::signal(SIGPIPE, SIG_IGN);  // Gloo writes to a process that is gone: an error, not the end of this one
  try {
    return run_program(argc, argv);
  } catch (const std::exception& e) {
    fmt::print(stderr, "mplus-train: {}\n",
               mplus::train::failure_text(e, "Lower `streams` or `reads` of the recipe's stage"));
    return 1;
  }
}
