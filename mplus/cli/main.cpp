// The program mplus: reads the command line, runs one subcommand, turns what went wrong into a message and an
// exit code.
#include <fmt/core.h>

#include <csignal>
#include <exception>
#include <new>
#include <sstream>

#include "mplus/cli/command_line.h"
#include "mplus/cli/commands/command.h"
#include "mplus/cli/eval/circumstances.h"
#include "mplus/cli/lost_file.h"
#include "mplus/cli/output/print.h"
#include "mplus/cli/output/terminal.h"
#include "mplus/core/error.h"
#include "mplus/kernels/queue.h"

namespace mplus::cli {
namespace {

constexpr const char* kDescription =
    "mplus gives a language model a memory that lasts: it reads documents once, and later answers from what "
    "it\n"
    "remembers. Start with `mplus remember FILE`, then `mplus ask \"…\"` or `mplus chat`. What it remembers "
    "is a\n"
    "session, kept in $MPLUS_HOME. Every option is also an environment variable: --session is MPLUS_SESSION.";

void add_commands(CLI::App& program, Action& chosen) {
  add_chat(program, chosen);
  add_remember(program, chosen);
  add_ask(program, chosen);
  add_generate(program, chosen);
  add_score(program, chosen);
  add_session(program, chosen);
  add_serve(program, chosen);
  add_mcp(program, chosen);
  add_inspect(program, chosen);
  add_convert(program, chosen);
  add_eval(program, chosen);
  add_bench(program, chosen);
  add_model(program, chosen);
}

int complain(const std::string& message, int code) {
  note("mplus: {}\n", printable(message));
  return code;
}

int run(const Action& chosen) {
  try {
    return chosen();
  } catch (const OutputLost& e) {
    return e.reader_gone() ? kFailed : complain(e.what(), kFailed);
  } catch (const UsageError& e) {
    return complain(e.what(), kWrongUsage);
  } catch (const Error& e) {
    return complain(e.what(), kFailed);
  } catch (const std::bad_alloc&) {
    return complain("out of memory", kFailed);
  } catch (const std::exception& e) {
    return complain(e.what(), kFailed);
  }
}

int run_program(int argc, char** argv) {
  // A reader that goes away, or a file that may not grow, is a failed write and not a sudden death.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  hold_standard_streams();
  report_lost_files();
  keep_command_line(argc, argv);
  CLI::App program(kDescription, "mplus");
  Action chosen;
  program.require_subcommand(1);
  program.set_version_flag("--version", [] {
    return fmt::format("mplus {}\ninstruction set {}\nnumerics id {}, {}", MPLUS_VERSION, kernels::isa_name(),
                       kernels::numerics_id(kernels::Numerics::fast),
                       kernels::numerics_id(kernels::Numerics::exact));
  });
  add_commands(program, chosen);
  finish_command_line(program);
  try {
    program.parse(literal_arguments(argc, argv));
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) {  // --help, --version
      std::ostringstream text;
      program.exit(e, text, text);
      return run([&] { return put(text.str()), kGood; });
    }
    const auto named = program.get_subcommands();
    const std::string command = named.empty() ? "mplus" : "mplus " + named.front()->get_name();
    return complain(fmt::format("{}\n`{} --help` says more", e.what(), command), kWrongUsage);
  }
  return run(chosen);
}

}  // namespace
}  // namespace mplus::cli

int main(int argc, char** argv) {
  try {
    return mplus::cli::run_program(argc, argv);
  } catch (...) {  // there was not even room for a message
    return mplus::cli::kFailed;
  }
}
