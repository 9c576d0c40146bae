// mplus inspect: what is in a file.
#include "mplus/cli/commands/command.h"
#include "mplus/cli/inspect/files.h"
#include "mplus/cli/options.h"
#include "mplus/cli/output/print.h"
#include "mplus/cli/output/report_output.h"

namespace mplus::cli {
namespace {

struct InspectCommand {
  std::string file;
  InspectOptions what;
  bool json = false;
};

int inspect(const InspectCommand& options) {
  const Json report = inspect_file(options.file, options.what);
  if (options.json) {
    put_json(report);
  } else {
    put(report_text(report, standard_output()));
  }
  return kGood;
}

}  // namespace

void add_inspect(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<InspectCommand>();
  CLI::App* command = program.add_subcommand("inspect",
                                             "Say what is in a model, delta, memory or tokenizer file.\n"
                                             "Knows GGUF, Hugging Face folders and published M+ checkpoints, "
                                             "safetensors files, deltas, memory files\n"
                                             "and tokenizer.json. A damaged file is refused with the place "
                                             "where it is damaged; --verify reads all of\n"
                                             "a memory file and checks its checksums.");
  command->add_option("FILE", options->file, "a file or a model folder")->type_name("")->required();
  command->add_flag("--tensors", options->what.tensors, "list every tensor");
  command->add_flag("--sources", options->what.sources, "list what a memory has read");
  command->add_flag("--verify", options->what.verify, "check every checksum of a memory file");
  add_json_option(*command, options->json);
  command->footer(
      "Examples:\n"
      "  mplus inspect my.safetensors --sources --verify\n"
      "  mplus inspect models/smollm2-135m-mplus.safetensors --json");
  command->callback([options, &chosen] { chosen = [options] { return inspect(*options); }; });
}

}  // namespace mplus::cli
