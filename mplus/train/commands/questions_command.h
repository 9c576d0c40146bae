// mplus-train questions TEXT…: makes up questions on texts (docs/recipes.md, "Questions made up").
#pragma once

#include <atomic>

namespace mplus::train {

// Arguments from the subcommand's name on; returns the exit code.
int questions_command(int argc, char** argv, const std::atomic<bool>& stop);

}  // namespace mplus::train
