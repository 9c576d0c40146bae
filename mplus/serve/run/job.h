// What the engine's thread does for one request: a coroutine that offers work (engine/run/steps.h) and may
// wait for other things between two steps: a session that somebody else is changing, a client that reads
// slowly.
//
//   engine::Steps<> answer(Job& job) {
//     co_await job.until([&] { return session_is_free(); });
//     engine::Generation generation = …;
//     co_await work_of(generation);
//   }
#pragma once

#include <functional>
#include <utility>

#include "mplus/engine/run/steps.h"

namespace mplus::serve {

class Job {
 public:
  using Doing = std::function<engine::Steps<>(Job&)>;

  explicit Job(Doing doing) : doing_(std::move(doing)), steps_(doing_(*this)) {}
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  class Waiting {
   public:
    explicit Waiting(Job& job) : job_(job) {}
    auto awaited_in(engine::StepsChannel* channel) const {
      struct Awaiter {
        Job& job;
        engine::StepsChannel* channel;
        bool await_ready() const { return job.may_go_on(); }
        void await_suspend(std::coroutine_handle<> handle) const {
          channel->work = nullptr;
          channel->on_stop = engine::OnStop::finish;
          channel->waiting = handle;
        }
        void await_resume() const { channel->result = {}; }
      };
      return Awaiter{job_, channel};
    }

   private:
    Job& job_;
  };
  // Goes on when `ready` says so; it is asked between steps, and must not throw.
  Waiting until(std::function<bool()> ready) {
    ready_ = std::move(ready);
    return Waiting(*this);
  }

  // The scheduler's side. Null: it waits, or has ended.
  engine::Work* next_work() {
    while (!steps_.done()) {
      if (engine::Work* work = steps_.next_work()) return work;
      if (steps_.done() || !may_go_on()) return nullptr;
      steps_.take({.done = true, .error = nullptr});
    }
    return nullptr;
  }
  void take(engine::WorkResult result) { steps_.take(std::move(result)); }
  bool ended() const { return steps_.done(); }

 private:
  bool may_go_on() {
    if (ready_ && !ready_()) return false;
    ready_ = nullptr;
    return true;
  }

  Doing doing_;  // holds what the coroutine's lambda has captured
  std::function<bool()> ready_;
  engine::StepsUnderWay<void> steps_;
};

using engine::next_step;
using engine::work_of;

}  // namespace mplus::serve
