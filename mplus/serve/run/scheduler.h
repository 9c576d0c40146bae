// The engine's thread: runs the jobs of all requests side by side, step by step. In each step every session
// that generates gets its token, writes go on by a few layers, and prompts by as many tokens as let nobody's
// token wait long: several in one pass, those that came first before the others.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "mplus/engine/run/runner.h"
#include "mplus/serve/run/job.h"
#include "mplus/serve/run/prompt_budget.h"

namespace mplus::serve {

struct SchedulerOptions {
  std::size_t most_jobs = 256;  // at once; more are refused
  double step_seconds = 0.1;    // that prompts may make of a step while somebody's token waits
  // Called between steps, and every second where there is nothing to do.
  std::function<void()> housekeeping = {};
};

class Scheduler {
 public:
  Scheduler(engine::Runner& runner, SchedulerOptions options);

  // From any thread. A job reports its own failures. False: too many are under way, or it is ending.
  bool submit(Job::Doing doing);
  void wake();  // something that a job may be waiting for has happened
  void run();   // until stop(), and all jobs have ended
  void stop();

  std::size_t jobs() const { return jobs_count_; }  // submitted and not ended
  std::size_t working() const { return working_; }  // of them, in the last step
  double last_step_seconds() const { return last_step_seconds_; }

 private:
  bool admit();   // takes over what was submitted; false: there is nothing left to do, ever
  bool gather();  // the items of a step; true: jobs have ended
  void take_prompts();
  void step();
  void wait();

  engine::Runner& runner_;
  SchedulerOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Job::Doing> submitted_;
  bool stopping_ = false, woken_ = false;
  std::atomic<std::size_t> jobs_count_ = 0, working_ = 0;
  std::atomic<double> last_step_seconds_ = 0;

  // The engine's thread's own.
  std::list<std::unique_ptr<Job>> jobs_;
  std::vector<Job*> mine_;  // whose work the items are
  std::vector<engine::WorkItem> items_;
  std::vector<std::pair<Job*, engine::Work*>> prompts_;  // that wait, in the order of their requests
  PromptBudget budget_;
  bool tokens_wait_ = false;      // for this step
  std::int64_t prompt_rows_ = 0;  // in it
};

}  // namespace mplus::serve
