// mplus generate: plain continuation of a text.
#include <fmt/core.h>

#include "mplus/cli/commands/command.h"
#include "mplus/cli/documents.h"
#include "mplus/cli/interrupt.h"
#include "mplus/cli/open_memory.h"
#include "mplus/cli/options.h"
#include "mplus/cli/output/answer_output.h"
#include "mplus/cli/output/json_output.h"
#include "mplus/cli/output/print.h"
#include "mplus/cli/output/why_output.h"

namespace mplus::cli {
namespace {

struct GenerateCommand {
  ModelOptions model;
  MemoryOptions memory;
  AnswerOptions answer;
  std::uint64_t seed = 0;
  std::string prompt;
  std::string ids;
  bool why = false;
  bool json = false;
};

std::string ids_text(const std::vector<io::TokenId>& ids) {
  std::string text;
  for (io::TokenId id : ids) text += fmt::format("{}{}", text.empty() ? "" : ",", id);
  return text;
}

int generate(GenerateCommand options) {
  choose_memory(options.memory, Fallback::none);
  if (options.prompt.empty() == options.ids.empty())
    throw UsageError("generate: name a text, - or --ids LIST");
  const std::string prompt = options.prompt == "-" ? read_text("-").text : options.prompt;
  const std::vector<io::TokenId> ids = parse_ids(options.ids);
  if (!options.ids.empty() && ids.empty()) throw UsageError("--ids: the list is empty");
  // A memory was made with a delta, so it brings the default one in.
  const auto engine = open_engine(options.model, options.memory,
                                  !options.memory.file.empty() || !options.memory.session.empty());
  OpenMemory memory(*engine, options.memory, options.seed, store::Access::read);
  const engine::Session& session = memory.session();
  const Interrupt interrupt;
  engine::GenerateOptions how = generate_options(options.answer, options.memory, options.seed);
  how.cancel = &interrupt.flag();
  how.why = options.why;
  memory.serve_words(how);
  AnswerStream stream(!options.json && engine->has_tokenizer(), false);
  how.on_text = [&](std::string_view piece) { return stream.write(piece); };
  const engine::Answer answer =
      options.ids.empty() ? session.generate(prompt, how) : session.generate_ids(ids, how);
  stream.end();
  if (options.json) {
    put_json(answer_json(answer, session.record(), options.why));
  } else {
    if (!engine->has_tokenizer()) put(ids_text(answer.tokens) + "\n");
    if (options.why) put(why_text(answer, session.record(), standard_output()));
  }
  return answer.reason == engine::StopReason::cancelled ? kFailed : kGood;
}

}  // namespace

void add_generate(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<GenerateCommand>();
  CLI::App* command = program.add_subcommand(
      "generate",
      "Continue a text.\n"
      "Plain completion, shown as it comes: the base model alone, without a delta, unless one is named or a\n"
      "memory is. With a memory the text is continued as someone would who has read what is in it.");
  command->add_option("TEXT", options->prompt, "the text to continue, or - to read it")->type_name("");
  command->add_option("--ids", options->ids, "token ids instead of text, or - to read them")
      ->type_name("LIST");
  command->add_flag("--why", options->why, "show the passages that were recalled");
  add_seed_option(*command, options->seed);
  add_json_option(*command, options->json);
  add_memory_options(*command, options->memory, "the memory to read with");
  add_answer_options(*command, options->answer);
  add_model_options(*command, options->model, "none, or with --memory the default model's own");
  command->footer(
      "Examples:\n"
      "  mplus generate \"Once upon a time\" -n 100 --temp 0.8 --seed 7\n"
      "  mplus generate - --memory my.safetensors --json < letter.txt");
  command->callback([options, &chosen] { chosen = [options] { return generate(*options); }; });
}

}  // namespace mplus::cli
