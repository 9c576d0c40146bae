#include "mplus/train/commands/plot_command.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "mplus/train/run/run_plot.h"

namespace mplus::train {

int plot_command(int argc, char** argv) {
  CLI::App app{
      "Draws the log of a run, finished or not: the loss of each task, what the same answers cost more "
      "without "
      "memory,\n"
      "and the share of unseen questions whose chunk the retriever finds first. Needs gnuplot. A run draws "
      "the\n"
      "same itself, into losses.svg of its folder, at every checkpoint."};
  app.name("mplus-train plot");
  std::string log, svg;
  app.add_option("LOG", log, "log.jsonl of a run")->type_name("FILE")->required();
  app.add_option("SVG", svg, "the picture")->type_name("FILE")->required();
  CLI11_PARSE(app, argc, argv);
  const std::string trouble = draw_run(log, svg);
  if (!trouble.empty()) fmt::print(stderr, "mplus-train: {}\n", trouble);
  return trouble.empty() ? 0 : 1;
}

}  // namespace mplus::train
