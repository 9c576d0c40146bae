// Which passages an answer was recalled from, for people and as JSON.
#pragma once

#include <string>
#include <vector>

#include "mplus/cli/output/json_output.h"
#include "mplus/cli/output/terminal.h"
#include "mplus/engine/answer/answer.h"

namespace mplus::cli {

std::string why_text(const engine::Answer& answer, const engine::Record& record, const Terminal& terminal);
// Layers × chunks: how well each layer scores each of the chunks above, from the lowest layer to the highest.
std::string heat_text(const engine::Answer& answer);
// The passages that stood in front of the question, one a line; "" if none did.
std::string reread_text(const std::vector<std::int64_t>& chunks, const engine::Record& record,
                        const Terminal& terminal);
Json reread_json(const std::vector<std::int64_t>& chunks, const engine::Record& record);
Json spans_json(const std::vector<engine::Span>& spans, const engine::Record& record);
Json why_json(const std::vector<engine::WhyChunk>& why, const engine::Record& record);

}  // namespace mplus::cli
