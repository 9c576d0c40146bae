// What the subcommands share: how one is added to the program, and how it ends.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <stdexcept>
#include <string>

namespace mplus::cli {

inline constexpr int kGood = 0;
inline constexpr int kFailed = 1;      // the operation failed, or was stopped before its end
inline constexpr int kWrongUsage = 2;  // the command line makes no sense

// Options that contradict each other: found after parsing, reported like any other wrong usage.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What was asked for, once the command line is read; returns the exit code.
using Action = std::function<int()>;

// Each adds one subcommand; `chosen` is set when the command line names it.
void add_ask(CLI::App& program, Action& chosen);
void add_bench(CLI::App& program, Action& chosen);
void add_chat(CLI::App& program, Action& chosen);
void add_convert(CLI::App& program, Action& chosen);
void add_eval(CLI::App& program, Action& chosen);
void add_generate(CLI::App& program, Action& chosen);
void add_inspect(CLI::App& program, Action& chosen);
void add_mcp(CLI::App& program, Action& chosen);
void add_model(CLI::App& program, Action& chosen);
void add_remember(CLI::App& program, Action& chosen);
void add_score(CLI::App& program, Action& chosen);
void add_serve(CLI::App& program, Action& chosen);
void add_session(CLI::App& program, Action& chosen);

}  // namespace mplus::cli
