#include "mplus/serve/api/memory/memory_use.h"

#include <fmt/core.h>

#include "mplus/core/error.h"
#include "mplus/io/text/names.h"

namespace mplus::serve {

engine::Steps<std::shared_ptr<OpenMemory>> opened(Services& services, Job& job, Call& call, Using::How how,
                                                  bool create) {
  const auto memory = co_await services.memories.open(job, call.memory(), call.names[0], create);
  co_await job.until([&] { return Using::possible(*memory, how) || call.exchange->gone(); });
  co_return call.exchange->gone() ? nullptr : memory;
}

Router::Handler with_memory(Services& services, Using::How how, Doing doing) {
  return with_memory_in_steps(
      services, how, [doing = std::move(doing)](OpenMemory& memory, Call& call) -> engine::Steps<Reply> {
        co_return doing(memory, call);
      });
}

Router::Handler with_memory_in_steps(Services& services, Using::How how, DoingInSteps doing) {
  return [&services, how, doing = std::move(doing)](Call call) {
    services.as_job(std::move(call), [&services, how, doing](Job& job, Call& own) -> engine::Steps<> {
      const auto memory = co_await opened(services, job, own, how);
      if (!memory) co_return;
      const Using in_use(memory, how);
      Reply reply = co_await doing(*memory, own);
      own.exchange->reply(std::move(reply));
    });
  };
}

Router::Handler as_job(Services& services, engine::Steps<Reply> (*handler)(Services&, Job&, Call&)) {
  return [&services, handler](Call call) {
    services.as_job(std::move(call), [&services, handler](Job& job, Call& own) -> engine::Steps<> {
      Reply reply = co_await handler(services, job, own);
      own.exchange->reply(std::move(reply));
    });
  };
}

Router::Handler on_engine(Services& services, Reply (*handler)(Services&, const Call&)) {
  return [&services, handler](Call call) {
    services.on_engine(std::move(call), [&services, handler](Call& own) { return handler(services, own); });
  };
}

std::string free_name(const Services& services, const Call& call, const std::string& name) {
  try {
    store::check_name(name);
    store::check_name(call.caller.stored(name));
  } catch (const Error& error) {
    throw ApiError{400, "invalid_value", error.what(), "name"};
  }
  if (services.store.find(call.caller.stored(name)))
    throw ApiError{409, "name_taken", fmt::format("there is a memory {} already", io::shown(name)), "name"};
  return name;
}

}  // namespace mplus::serve
