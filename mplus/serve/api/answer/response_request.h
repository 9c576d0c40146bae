// What is asked for at /v1/responses. A response that was kept is a turn of a memory, called by the memory's
// name and the turn's event, so nothing else has to be stored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "mplus/serve/api/answer/completion.h"

namespace mplus::serve {

std::string random_name(const char* prefix);

// A turn as a response's id: letters, digits and '_' alone, whatever the memory is called.
struct TurnPlace {
  std::string memory;
  std::int64_t event = 0;

  std::string id() const;
  std::string item_id() const;  // of its message
  // Throws ApiError where it is none. `field`: what named it.
  static TurnPlace of(const std::string& id, const char* field);
};

struct ResponseRequest : CompletionRequest {
  std::optional<TurnPlace> previous;
  std::string instructions;
  Json metadata = Json::object();
};

ResponseRequest response_request(const Services& services, const Call& call);

}  // namespace mplus::serve
