// mplus-train evaluate PLAN: carries out an evaluation's plan (docs/evaluation.md, "Plans").
#pragma once

#include <atomic>

namespace mplus::train {

// Arguments from the subcommand's name on; returns the exit code.
int evaluate_command(int argc, char** argv, const std::atomic<bool>& stop);

}  // namespace mplus::train
