// Work that stops wherever the model is to do something, and goes on with the result: a coroutine that offers
// Work. So answering and remembering read as loops and still belong to nobody's thread: between two steps
// others get theirs. Dropping one that waits unwinds it like an exception.
//
//   Steps<Answer> answer_it() { ... co_await Offer{work}; ... co_await read_prompt(); ... co_return answer; }
//   StepsUnderWay<Answer> under_way(answer_it());
//   while (Work* work = under_way.next_work()) { do it; under_way.take(result); }
//
// What a coroutine refers to (its object, arguments taken by reference) must outlive it.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

#include "mplus/core/error.h"
#include "mplus/engine/run/work.h"

namespace mplus::engine {

enum class OnStop {
  fail,    // throws cancelled
  report,  // the offer comes back false, and was not done
  finish,  // is done all the same: half would be left otherwise
};

// co_await Offer{work}: true when it was done.
struct Offer {
  Work& work;
  OnStop on_stop = OnStop::fail;
};

// Between a stack of coroutines and whoever runs them.
struct StepsChannel {
  Work* work = nullptr;
  OnStop on_stop = OnStop::fail;
  std::coroutine_handle<> waiting;  // for that work
  WorkResult result;
  bool stopping = false;
};

template <class T>
class StepsUnderWay;

class StepsPromise {
 public:
  struct Offering {
    StepsChannel* channel;
    Offer offer;
    bool await_ready() const { return channel->stopping && offer.on_stop != OnStop::finish; }
    void await_suspend(std::coroutine_handle<> handle) const {
      channel->work = &offer.work;
      channel->on_stop = offer.on_stop;
      channel->waiting = handle;
    }
    bool await_resume() const {
      const WorkResult result = std::exchange(channel->result, {});
      if (result.error) std::rethrow_exception(result.error);
      if (!result.done && offer.on_stop == OnStop::fail) fail(ErrorCode::cancelled, "stopped on request");
      return result.done;
    }
  };
  struct Ending {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> handle) const noexcept {
      return handle.promise().continuation ? handle.promise().continuation : std::noop_coroutine();
    }
    void await_resume() const noexcept {}
  };

  std::suspend_always initial_suspend() const noexcept { return {}; }
  Ending final_suspend() const noexcept { return {}; }
  void unhandled_exception() { error = std::current_exception(); }
  Offering await_transform(Offer offer) const { return {channel, offer}; }
  template <class Inner>
  auto await_transform(Inner&& inner) const {
    return inner.awaited_in(channel);  // NOLINT: a member, null at first; analysis of coroutines misses it
  }

  StepsChannel* channel = nullptr;
  std::coroutine_handle<> continuation;
  std::exception_ptr error;
};

template <class T>
struct StepsResult : StepsPromise {
  void return_value(T result) { value.emplace(std::move(result)); }
  T get() {
    if (error) std::rethrow_exception(error);
    return std::move(*value);
  }
  std::optional<T> value;
};

template <>
struct StepsResult<void> : StepsPromise {
  void return_void() const {}
  void get() const {
    if (error) std::rethrow_exception(error);
  }
};

template <class T = void>
class [[nodiscard]] Steps {
 public:
  struct promise_type : StepsResult<T> {
    Steps get_return_object() { return Steps(std::coroutine_handle<promise_type>::from_promise(*this)); }
  };

  Steps(Steps&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Steps& operator=(Steps&&) = delete;
  ~Steps() {
    if (handle_) handle_.destroy();
  }

  // From another coroutine: this one runs first.
  auto awaited_in(StepsChannel* channel) const {
    struct Awaited {
      std::coroutine_handle<promise_type> handle;
      bool await_ready() const { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<> outer) const {
        handle.promise().continuation = outer;
        return handle;
      }
      T await_resume() const { return handle.promise().get(); }
    };
    handle_.promise().channel = channel;
    return Awaited{handle_};
  }

 private:
  friend class StepsUnderWay<T>;
  explicit Steps(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

// Runs a coroutine from outside. What it throws comes out of next_work(), take() or stop().
template <class T>
class StepsUnderWay {
 public:
  explicit StepsUnderWay(Steps<T> steps) : steps_(std::move(steps)) {
    steps_.handle_.promise().channel = &channel_;
  }
  StepsUnderWay(const StepsUnderWay&) = delete;
  StepsUnderWay& operator=(const StepsUnderWay&) = delete;

  bool begun() const { return begun_; }
  bool done() const { return steps_.handle_.done(); }

  // The same until its result was taken; null: done.
  Work* next_work() {
    if (!begun_) {
      begun_ = true;
      resume(steps_.handle_);
    }
    return done() ? nullptr : channel_.work;
  }
  void take(WorkResult result) {
    if (!result.done) return;
    channel_.result = std::move(result);
    resume(channel_.waiting);
  }
  // From now on what can be stopped is; work that has to be finished still comes.
  void stop() {
    channel_.stopping = true;
    if (begun_ && !done() && channel_.on_stop != OnStop::finish) resume(channel_.waiting);
  }
  T result() { return steps_.handle_.promise().get(); }  // once

 private:
  void resume(std::coroutine_handle<> handle) {
    channel_.work = nullptr;
    handle.resume();
    if (done() && steps_.handle_.promise().error) std::rethrow_exception(steps_.handle_.promise().error);
  }

  StepsChannel channel_;
  Steps<T> steps_;
  bool begun_ = false;
};

// From another coroutine: one piece of work of a Generation, an Ingestion or what is like them; false: it has
// ended.
template <class Task>
Steps<bool> next_step(Task& task) {
  Work* work = task.next_work();
  if (!work) co_return false;
  std::exception_ptr error;
  try {
    co_await Offer{*work, OnStop::finish};
  } catch (...) {
    error = std::current_exception();
  }
  task.take({.done = true, .error = error});
  co_return true;
}

// All of it.
template <class Task>
Steps<> work_of(Task& task) {
  for (bool more = true; more;) more = co_await next_step(task);
}

}  // namespace mplus::engine
