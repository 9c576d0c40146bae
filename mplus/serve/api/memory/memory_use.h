// A memory that a request's path names, and the right to do something with it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "mplus/serve/api/router.h"

namespace mplus::serve {

// It exists, or is made; once `how` is possible. Null: the client has gone.
engine::Steps<std::shared_ptr<OpenMemory>> opened(Services& services, Job& job, Call& call, Using::How how,
                                                  bool create = false);

// A handler that has the memory of the path to itself.
using Doing = std::function<Reply(OpenMemory&, Call&)>;
Router::Handler with_memory(Services& services, Using::How how, Doing doing);

// The same for what takes steps of the model.
using DoingInSteps = std::function<engine::Steps<Reply>(OpenMemory&, Call&)>;
Router::Handler with_memory_in_steps(Services& services, Using::How how, DoingInSteps doing);

// One that opens memories by itself.
Router::Handler as_job(Services& services, engine::Steps<Reply> (*handler)(Services&, Job&, Call&));

// One that needs the engine's thread, and no step of the model.
Router::Handler on_engine(Services& services, Reply (*handler)(Services&, const Call&));

// What a new memory is to be called: throws ApiError where that is taken or impossible.
std::string free_name(const Services& services, const Call& call, const std::string& name);

}  // namespace mplus::serve
