// JSON as io/text/json.h reads it, with the keys of an object in the order in which they stand.
#pragma once

#include "mplus/io/text/json.h"

namespace mplus::io {

using OrderedJson = nlohmann::ordered_json;

OrderedJson parse_ordered_json(std::string_view text, std::string_view file_name,
                               const JsonLimits& limits = {});

}  // namespace mplus::io
