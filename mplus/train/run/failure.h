// What a command says when it fails: torch's errors without their backtraces, and what to do where a GPU's
// memory is full.
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace mplus::train {

// `less_memory`: how this command is made to need less.
std::string failure_text(const std::exception& error, std::string_view less_memory);

}  // namespace mplus::train
