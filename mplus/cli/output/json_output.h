// Reports in JSON: one object a line on standard output, always valid whatever bytes the texts held.
#pragma once

#include "mplus/engine/answer/answer.h"
#include "mplus/io/text/json.h"

namespace mplus::cli {

using Json = nlohmann::ordered_json;  // keys in the order in which they are set

void put_json(const Json& report);  // throws OutputLost

Json answer_json(const engine::Answer& answer, const engine::Record& record, bool with_why);

}  // namespace mplus::cli
