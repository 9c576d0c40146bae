#include "mplus/serve/api/services.h"

#include <fmt/core.h>

#include <chrono>

#include "mplus/io/text/names.h"

namespace mplus::serve {
namespace {

engine::Steps<> guarded(Memories& memories, Job& job, std::shared_ptr<Call> call,
                        const Services::Handler& handler) {
  std::exception_ptr failure;
  try {
    co_await handler(job, *call);
  } catch (...) {
    failure = std::current_exception();
  }
  if (!failure) co_return;
  memories.after_failure(as_api_error(failure).status >= 500);
  report(*call, failure);
}

void refuse_for_now(const Call& call) {
  report(call, std::make_exception_ptr(ApiError{
                   429, "overloaded", "too many requests are under way", "", {{"Retry-After", "2"}}}));
}

}  // namespace

void report(const Call& call, const std::exception_ptr& failure) {
  const ApiError error = as_api_error(failure);
  if (!call.exchange->replied()) return call.exchange->reply(error_reply(error));
  call.exchange->write(fmt::format("event: error\ndata: {}\n\n", error_json(error)));
  call.exchange->end();
}

bool Call::asked_for(const std::string& name, bool otherwise) const {
  const auto value = request().asked(name);
  if (!value) return otherwise;
  if (*value != "true" && *value != "false")
    throw ApiError{400, "invalid_value", fmt::format("{}: expected true or false", name), name};
  return *value == "true";
}

void Services::as_job(Call call, Handler handler) {
  auto shared = std::make_shared<Call>(std::move(call));
  shared->exchange->set_on_room([this] { scheduler.wake(); });
  const bool taken = scheduler.submit([this, shared, handler = std::move(handler)](Job& job) {
    return guarded(memories, job, shared, handler);
  });
  if (!taken) refuse_for_now(*shared);
}

void Services::beside(Call call, std::function<void(Call&)> handler) {
  auto shared = std::make_shared<Call>(std::move(call));
  const bool taken = background.submit([shared, handler = std::move(handler)] {
    try {
      handler(*shared);
    } catch (...) {
      report(*shared, std::current_exception());
    }
  });
  if (!taken) refuse_for_now(*shared);
}

void Services::on_engine(Call call, std::function<Reply(Call&)> handler) {
  as_job(std::move(call), [handler = std::move(handler)](Job&, Call& own) -> engine::Steps<> {
    own.exchange->reply(handler(own));
    co_return;
  });
}

store::SessionInfo Services::existing(const Caller& caller, const std::string& name) const {
  auto info = store.find(caller.stored(name));
  if (!info) throw ApiError{404, "not_found", fmt::format("there is no memory {}", io::shown(name))};
  return *std::move(info);
}

Reply json_reply(const Json& json, int status) { return {.status = status, .body = dump(json)}; }

std::string sse(std::string_view event, const Json& data) {
  if (event.empty()) return fmt::format("data: {}\n\n", dump(data));
  return fmt::format("event: {}\ndata: {}\n\n", event, dump(data));
}

std::int64_t seconds_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace mplus::serve
