// The parts of tokenizer.json, each read by a function of its own. Whatever would change the tokens and is
// not known here is an error, never ignored.
#pragma once

#include "mplus/io/text/json.h"
#include "mplus/io/tokenizer/tokenizer_spec.h"

namespace mplus::io {

JsonFields required_object(const JsonFields& parent, std::string_view key);
const Json& required_list(const JsonFields& parent, std::string_view key);
std::string required_string(const JsonFields& parent, std::string_view key);

void read_text_rules(const JsonFields& root, TokenizerSpec& spec);  // "normalizer", "pre_tokenizer"

}  // namespace mplus::io
