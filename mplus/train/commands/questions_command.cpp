#include "mplus/train/commands/questions_command.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "mplus/train/questions/make_files.h"
#include "mplus/train/run/failure.h"

namespace mplus::train {

int questions_command(int argc, char** argv, const std::atomic<bool>& stop) {
  CLI::App app{
      "Makes up questions on texts that have none, for recipes to train with. The delta must have learned\n"
      "to pose questions (train/recipes/asker.toml): with a passage before it, it asks and answers.\n"
      "Questions are kept whose answer stands in the passage and is what the model, asked again, says\n"
      "first. FILE gets JSON lines like any other file of questions; a recipe names it under\n"
      "[[questions]]."};
  app.name("mplus-train questions");
  MakeQuestionsOptions options;
  options.stop = &stop;
  app.add_option("TEXT", options.texts, "JSON lines with texts, plain or compressed with xz or zstd")
      ->type_name("FILE...")
      ->required();
  app.add_option("-m,--model", options.model, "base model: a GGUF or a Hugging Face folder")
      ->type_name("FILE|DIR")
      ->required();
  app.add_option("--delta", options.delta, "a delta that poses questions")->type_name("FILE")->required();
  app.add_option("--out", options.out, "gets the questions")->type_name("FILE")->required();
  app.add_option("--passages", options.passages, "most passages of each file, spread over all of it")
      ->type_name("N")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--tokens", options.pose.tokens, "made up on each passage, answers and questions")
      ->type_name("N")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--temperature", options.pose.temperature, "higher: more various, less often kept")
      ->type_name("X")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--seed", options.seed, "of what is drawn")->type_name("N")->capture_default_str();
  app.add_option("--device", options.device, "cpu, cuda or auto")
      ->check(CLI::IsMember({"cpu", "cuda", "auto"}))
      ->capture_default_str();
  app.add_option("--at-once", options.at_once, "passages worked on together; default: as suits the device")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  try {
    make_questions(options);
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "mplus-train: {}\n", failure_text(e, "Lower --at-once (passages worked on together)"));
    return stop ? 130 : 1;
  }
}

}  // namespace mplus::train
