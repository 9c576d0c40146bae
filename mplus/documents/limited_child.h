// Another program that turns bytes into bytes, with little to do harm with: limits on address space,
// processor time, wall-clock time and output, no network, no file it could write, none of our descriptors or
// variables. Safe in a program with many threads, whose own standard streams must be open
// (core/files/standard_streams.h).
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace mplus::documents {

struct ChildLimits {
  std::chrono::steady_clock::time_point deadline;
  std::size_t memory_bytes = 0;
  std::size_t output_bytes = 0;
};

struct ChildResult {
  enum class End { exited, killed_by_signal, out_of_time, too_much_output };
  End end = End::exited;
  int status = 0;  // the exit status or the signal's number
  std::string output;
  std::string errors;  // the first few kilobytes of its standard error
};

// The path of a program, looked for in PATH; empty where there is none.
std::string find_program(const std::string& name);

// Runs `command` (its first word is a path) with `input` as its standard input. Throws io where no process
// can be made.
ChildResult run_limited(const std::vector<std::string>& command, std::string_view input,
                        const ChildLimits& limits);

}  // namespace mplus::documents
