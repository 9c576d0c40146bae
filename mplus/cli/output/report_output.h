// A report as JSON, and the same report for people: fields one a line, lists of objects as tables. Every text
// in it is made fit for a terminal.
#pragma once

#include <string>

#include "mplus/cli/output/json_output.h"
#include "mplus/cli/output/terminal.h"

namespace mplus::cli {

std::string report_text(const Json& report, const Terminal& terminal);

}  // namespace mplus::cli
