#include "mplus/serve/run/scheduler.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>

namespace mplus::serve {
namespace {

// With somebody's token waiting, a step may take little more than that token; alone, larger pieces cost less.
constexpr std::int64_t kWriteLayersBesideOthers = 1, kWriteLayersAlone = 4;
constexpr std::int64_t kPromptTokensBesideOthers = 64, kPromptTokensAlone = 128;
// Rows of all prompts in a step where no token waits: they are read in one pass, and the more there are, the
// less each one costs.
constexpr std::int64_t kPromptRows = 512;
// Where one waits, so many at least: on a slow machine, too, somebody waits for a first token.
constexpr std::int64_t kFewestPromptRows = 64;

// Tokens of a prompt that the work reads; 0: it is none.
std::int64_t prompt_rows(const engine::Work& work) {
  if (const auto* scout = std::get_if<engine::Scout>(&work)) return std::ssize(scout->item.tokens);
  if (const auto* prefill = std::get_if<engine::Prefill>(&work)) return std::ssize(prefill->item.tokens);
  return 0;
}

}  // namespace

Scheduler::Scheduler(engine::Runner& runner, SchedulerOptions options)
    : runner_(runner), options_(std::move(options)), budget_(options_.step_seconds) {}

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

// One item of each job that has work; of prompts as many as a step has rows for.
bool Scheduler::gather() {
  bool some_ended = false;
  items_.clear();
  mine_.clear();
  prompts_.clear();
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
    if (prompt_rows(*work) > 0) {
      prompts_.emplace_back(&job, work);
      continue;
    }
    items_.push_back({work});
    mine_.push_back(&job);
  }
  working_ = items_.size() + prompts_.size();
  take_prompts();
  return some_ended;
}

// Those whose requests came first go first: one after another they have their first tokens sooner, and the
// last of them no later, than if all went on together. A long one leaves room, since a step takes a block of
// it.
void Scheduler::take_prompts() {
  tokens_wait_ = std::ranges::any_of(items_, [](const engine::WorkItem& item) {
    return std::holds_alternative<engine::Decode>(*item.work);
  });
  const std::int64_t most = tokens_wait_ ? std::max(kFewestPromptRows, budget_.rows()) : kPromptRows;
  prompt_rows_ = 0;
  for (const auto& [job, work] : prompts_) {
    const std::int64_t rows = prompt_rows(*work);
    if (prompt_rows_ > 0 && prompt_rows_ + rows > most) break;
    prompt_rows_ += rows;
    items_.push_back({work});
    mine_.push_back(job);
  }
}

void Scheduler::step() {
  const bool alone = working_ == 1;
  runner_.set_write_layers(alone ? kWriteLayersAlone : kWriteLayersBesideOthers);
  runner_.set_prompt_tokens(alone ? kPromptTokensAlone : kPromptTokensBesideOthers);
  const auto begin = std::chrono::steady_clock::now();
  runner_.step(items_);
  last_step_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (tokens_wait_) budget_.note(prompt_rows_, last_step_seconds_);
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
