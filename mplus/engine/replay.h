// A session made again from events (engine/event.h), without asking the model: answers are taken as they
// were.
#pragma once

#include <functional>

#include "mplus/engine/session.h"

namespace mplus::engine {

// Does what an event tells. `as_recalled`: a turn attends to the rows it attended to then; otherwise it
// recalls anew (the memory is another one). `told`: who is told of what came of it.
void replay(Session& session, const Event& event, bool as_recalled, const EventSink& told = {});
// The same; its arguments must outlive it, and nothing else may change the session meanwhile. `behind_step`:
// called behind every step of a document; there the session is what was told last.
Steps<> replay_steps(Session& session, const Event& event, bool as_recalled, const EventSink& told,
                     std::function<void()> behind_step = {});

}  // namespace mplus::engine
