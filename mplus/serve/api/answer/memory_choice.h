// Which memory a request means, and what is to be done with it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "mplus/serve/api/services.h"

namespace mplus::serve {

inline constexpr std::string_view kModelName = "mplus";

enum class MemoryMode { off, read, write };

struct MemoryChoice {
  std::string name;  // empty: none
  MemoryMode mode = MemoryMode::off;
  bool create = true;
  bool whole = false;    // what is sent is all of its conversation: a first message alone begins it anew
  bool passages = true;  // in the reply
};

// By the field `memory`, by a header, by the model's name, in this order. Throws ApiError where two of them
// differ.
MemoryChoice memory_choice(const Services& services, const Call& call, Fields& body,
                           const std::string& model);

// "mplus:alice" → "alice"; "mplus", or what else a client has in its box → "".
std::string memory_of_model(std::string_view model);

}  // namespace mplus::serve
