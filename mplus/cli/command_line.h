// What CLI11 has to be told for our command line: help that lists subcommands by their first line, arguments
// taken literally, an environment variable for every option.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace mplus::cli {

void finish_command_line(CLI::App& program);  // once all subcommands are there

// The arguments behind the program's name, last first, as CLI::App::parse wants them. CLI11 takes "[a, b]"
// for a list and would cut it up; a mark in front keeps it whole, and finish_command_line() has it removed.
std::vector<std::string> literal_arguments(int argc, char** argv);

}  // namespace mplus::cli
