#include "mplus/train/commands/average_command.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "mplus/train/run/files/average.h"

namespace mplus::train {

int average_command(int argc, char** argv) {
  CLI::App app{
      "Averages deltas that went on from one another, number by number: it often remembers better than any\n"
      "of them (docs/recipes.md, \"Averages\"). Sizes, settings and the record are those of the last one\n"
      "named. FILE is made in bfloat16; `mplus convert --to delta --dtype int8` halves it."};
  app.name("mplus-train average");
  AverageOptions options;
  app.add_option("DELTA", options.deltas, "two or more, of one base model")->type_name("FILE...")->required();
  app.add_option("--weights", options.weights, "of each, in their order; default: all alike")
      ->type_name("LIST")
      ->delimiter(',');
  app.add_option("--out", options.out, "gets the average")->type_name("FILE")->required();
  CLI11_PARSE(app, argc, argv);
  try {
    average_deltas(options);
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "mplus-train: {}\n", e.what());
    return 1;
  }
}

}  // namespace mplus::train
