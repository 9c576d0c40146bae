// Which passages an answer was recalled from, for people and as JSON.
#pragma once

#include <string>
#include <vector>

#include "mplus/cli/output/json_output.h"
#include "mplus/cli/output/terminal.h"
#include "mplus/engine/answer.h"

namespace mplus::cli {

std::string why_text(const std::vector<engine::WhyChunk>& why, const engine::Record& record,
                     const Terminal& terminal);
Json why_json(const std::vector<engine::WhyChunk>& why, const engine::Record& record);

}  // namespace mplus::cli
