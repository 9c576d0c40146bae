// What happens to a session, as a log would keep it: from the events alone, in order, the session can be made
// again.
#pragma once

#include <functional>
#include <string_view>
#include <variant>

#include "mplus/engine/record.h"

namespace mplus::engine {

struct TextAppended {
  std::string_view source;
  Speaker speaker;
  std::string_view bytes;
};
struct TurnClosed {};
struct Flushed {};

using Event = std::variant<TextAppended, TurnClosed, Flushed>;

// Called once an event has taken effect; views are valid during the call. What it throws reaches the caller
// of the session, which has changed by then.
using EventSink = std::function<void(const Event&)>;

}  // namespace mplus::engine
