#include "mplus/serve/run/scheduler.h"

#include <spdlog/spdlog.h>

#include <chrono>

namespace mplus::serve {
namespace {

// With somebody's token waiting, a step may take little more than that token; alone, larger pieces cost less.
constexpr std::int64_t kWriteLayersBesideOthers = 1, kWriteLayersAlone = 4;
constexpr std::int64_t kPromptTokensBesideOthers = 32, kPromptTokensAlone = 128;

bool is_prompt(const engine::Work& work) {
  return std::holds_alternative<engine::Scout>(work) || std::holds_alternative<engine::Prefill>(work);
}

}  // namespace

Scheduler::Scheduler(engine::Runner& runner, SchedulerOptions options)
    : runner_(runner), options_(std::move(options)) {}

bool Scheduler::submit(Job::Doing doing) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || jobs_count_ >= options_.most_jobs) return false;
    submitted_.push_back(std::move(doing));
    ++jobs_count_;
  }
  changed_.notify_one();
  return true;
}

void Scheduler::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_one();
}

void Scheduler::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
}

void Scheduler::run() {
  while (admit()) {
    if (options_.housekeeping) options_.housekeeping();
    const bool some_ended = gather();
    if (!items_.empty()) {
      step();
    } else if (!some_ended) {  // else somebody may have waited for it
      wait();
    }
  }
}

bool Scheduler::admit() {
  std::vector<Job::Doing> fresh;
  {
    const std::lock_guard lock(mutex_);
    fresh.swap(submitted_);
    if (stopping_ && fresh.empty() && jobs_.empty()) return false;
  }
  for (Job::Doing& doing : fresh) jobs_.push_back(std::make_unique<Job>(std::move(doing)));
  return true;
}

// One item of each job that has work. Prompts go one after another in a step, so one of them is enough where
// others wait.
bool Scheduler::gather() {
  bool some_ended = false;
  items_.clear();
  mine_.clear();
  std::vector<std::pair<Job*, engine::Work*>> prompts;
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    Job& job = **at;
    engine::Work* work = nullptr;
    try {
      work = job.next_work();
    } catch (const std::exception& error) {  // jobs report their own: this is a mistake in one
      spdlog::error("a request failed without a reply: {}", error.what());
    }
    if (job.ended()) {
      at = jobs_.erase(at);
      --jobs_count_;
      some_ended = true;
      continue;
    }
    ++at;
    if (!work) continue;
    if (is_prompt(*work)) {
      prompts.emplace_back(&job, work);
      continue;
    }
    items_.push_back({work});
    mine_.push_back(&job);
  }
  if (!prompts.empty()) {
    const auto& [job, work] = prompts[turn_++ % prompts.size()];
    items_.push_back({work});
    mine_.push_back(job);
  }
  working_ = items_.size() + (prompts.empty() ? 0 : prompts.size() - 1);
  return some_ended;
}

void Scheduler::step() {
  const bool alone = working_ == 1;
  runner_.set_write_layers(alone ? kWriteLayersAlone : kWriteLayersBesideOthers);
  runner_.set_prompt_tokens(alone ? kPromptTokensAlone : kPromptTokensBesideOthers);
  const auto begin = std::chrono::steady_clock::now();
  runner_.step(items_);
  last_step_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (std::size_t i = 0; i < items_.size(); ++i) {
    try {
      mine_[i]->take(std::move(items_[i].result));
    } catch (const std::exception& error) {
      spdlog::error("a request failed without a reply: {}", error.what());
    }
  }
}

void Scheduler::wait() {
  working_ = 0;
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::seconds(1),
                    [&] { return woken_ || !submitted_.empty() || (stopping_ && jobs_.empty()); });
  woken_ = false;
}

}  // namespace mplus::serve
