// mplus chat: a conversation, on a terminal or one message a line.
#include <unistd.h>

#include "mplus/cli/commands/chat_session.h"
#include "mplus/cli/commands/command.h"
#include "mplus/cli/output/print.h"
#include "mplus/cli/output/terminal.h"
#include "mplus/cli/read_line.h"
#include "mplus/core/error.h"
#include "mplus/io/text/names.h"

namespace mplus::cli {
namespace {

int chat(const ChatOptions& options) {
  ChatSession conversation(options);
  const bool person = ::isatty(STDIN_FILENO) == 1 && standard_output().is_terminal;
  if (person) note("Type a message; /help lists commands, Ctrl-D ends.\n");
  Interrupt interrupt;
  bool failed = false;
  for (std::string line;;) {
    if (person) put(standard_output().styled(Style::bold, "> "));
    line.clear();
    if (!read_line(line) || interrupt.requested()) break;
    try {
      if (!io::valid_utf8(line)) fail(ErrorCode::invalid_argument, "the message is not valid UTF-8");
      if (!conversation.handle(line, interrupt)) break;
    } catch (const Error& e) {  // a person goes on; a script must learn of it
      note("mplus: {}\n", printable(e.what()));
      failed = true;
    }
    interrupt.clear();
  }
  if (person) put("\n");
  return failed && !person ? kFailed : kGood;
}

}  // namespace

void add_chat(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<ChatOptions>();
  CLI::App* command = program.add_subcommand(
      "chat",
      "Talk with the model.\n"
      "A conversation in the model's own chat form, on a terminal or with one message a line from standard\n"
      "input. What falls out of the window is written into the memory. Every turn is kept in a session\n"
      "(`default` unless --session names another) and goes on where it ended. /help lists what else can be\n"
      "typed; Ctrl-C stops an answer.");
  command->add_option("--system", options->system, "instructions to begin a new conversation with")
      ->type_name("TEXT");
  add_reread_option(*command, options->reread);
  add_seed_option(*command, options->seed);
  add_json_option(*command, options->json);
  add_memory_options(*command, options->memory, "what to go on with; made if it is not there");
  add_new_memory_options(*command, options->memory);
  add_answer_options(*command, options->answer);
  add_model_options(*command, options->model, "the default model's own");
  command->footer(
      "Examples:\n"
      "  mplus chat\n"
      "  mplus chat --session work\n"
      "  printf 'Hello.\\n/remember notes.md\\nWhat is in my notes?\\n' | mplus chat --json");
  command->callback([options, &chosen] { chosen = [options] { return chat(*options); }; });
}

}  // namespace mplus::cli
