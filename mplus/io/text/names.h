// Names and texts out of files nobody vouches for, made fit for a message or a map.
#pragma once

#include <string>
#include <string_view>

namespace mplus::io {

bool valid_utf8(std::string_view text);

// 'name' for a message: control characters and bytes that are no UTF-8 escaped, cut at some 120 characters,
// so that a file cannot write to the terminal or flood it.
std::string shown(std::string_view name);

}  // namespace mplus::io
