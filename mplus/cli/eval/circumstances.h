// What a run was made with: command, program, machine, model.
#pragma once

#include "mplus/cli/options.h"
#include "mplus/cli/output/json_output.h"

namespace mplus::cli {

void keep_command_line(int argc, char** argv);  // once, at the start of the program
Json circumstances(const ModelOptions& model, const Device& device, int threads);

}  // namespace mplus::cli
