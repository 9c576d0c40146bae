// Does the work of many sessions, step by step. A Runner owns what passes run in: threads, queue,
// workspace. One thread at a time; sessions whose work it does belong to the same weights.
//
// A step takes one piece of work from each of any number of sessions, kinds mixed, and does it in as few
// passes as it can: tokens, blocks of prompts and scouts in one read pass, writes together in one write pass.
// Of several write passes on a device a step ends one, and leaves it the next to go on with: so it never
// waits for the host. It changes no memory: whoever takes the result does. What is written comes out bit for
// bit as if the session were alone. One that fails (its rows are damaged, say) fails alone.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "mplus/core/thread_pool.h"
#include "mplus/engine/run/work.h"
#include "mplus/model/passes/workspace.h"

namespace mplus::engine {

struct RunnerOptions {
  int threads = 0;  // 0: the cores this process may use
  kernels::Numerics numerics = kernels::Numerics::fast;
  Device device = {};  // passes run there
  model::RopeOptions rope = {};
  model::WeightForm weights = model::WeightForm::values;
  // Layers of a write in one step, at most, so that nobody's token waits for all of them; 0: no limit. One
  // write pass goes on in a step then; writes that come meanwhile begin together after it.
  std::int64_t write_layers = 0;
  std::int64_t prompt_tokens = 256;  // of one session that are read in one step, at most
  // Of the long-term rows of a session that reads: brought to the device by one read, so that the next ones
  // recall from there.
  std::size_t store_bytes = std::size_t{64} << 20;
};

class Runner {
 public:
  Runner(std::shared_ptr<const model::Weights> weights, const RunnerOptions& options);

  // Fills in the results. Every session has one item at most.
  void step(std::span<WorkItem> items);
  // Does these to their end, with no others; throws where one failed.
  void finish(std::span<Work> works);
  // How long a step may take, for what begins from now on.
  void set_write_layers(std::int64_t layers) { options_.write_layers = layers; }
  void set_prompt_tokens(std::int64_t tokens) { options_.prompt_tokens = tokens; }
  std::int64_t prompt_tokens() const { return options_.prompt_tokens; }
  void set_store_bytes(std::size_t size_bytes) { options_.store_bytes = size_bytes; }

  std::int64_t read_passes() const { return read_passes_; }  // so far
  // Told of every recall that is decided for a whole answer: the seconds that takes, without its scout pass.
  void observe_recalls(std::function<void(double)> told) { on_recall_ = std::move(told); }

  model::Workspace& workspace() { return workspace_; }
  const model::Workspace& workspace() const { return workspace_; }
  kernels::Queue& queue() { return queue_; }

 private:
  bool is_short(const WorkItem& item) const;              // its prompt (model::Workspace::short_rows)
  void read_in_passes(std::span<WorkItem* const> items);  // of one adapter
  void read(std::span<WorkItem* const> items);            // in one pass
  void plan(WorkItem& item, const Scout& work, std::span<const memory::LayerQueries> states);
  void bring_store(const Prefill& prompt);
  void write(std::span<WorkItem* const> items);
  void begin_writes(std::span<WorkItem* const> items);
  void write_ahead(std::span<WorkItem* const> items);
  void start_write(model::WritePass& pass, std::span<WorkItem* const> items);
  void finish_write(const std::shared_ptr<model::WritePass>& pass, std::span<WorkItem* const> items);
  std::int64_t write_layers() const;  // in one step

  RunnerOptions options_;
  ThreadPool pool_;
  kernels::Queue queue_;
  model::Workspace workspace_;
  std::int64_t read_passes_ = 0;
  std::function<void(double)> on_recall_ = {};
  // Reused, so that a step of decodes allocates nothing.
  std::vector<WorkItem*> reads_, writes_;
  std::vector<model::ReadItem> batch_;
  std::vector<model::ScoutStates> scouts_;
};

// Runs one task (Generation, Ingestion, …) by itself to its end: what a program without other sessions does.
template <class Task>
void run_alone(Runner& runner, Task& task) {
  while (Work* work = task.next_work()) {
    WorkItem item{work};
    runner.step({&item, 1});
    task.take(std::move(item.result));
  }
}

// Runs tasks of several sessions side by side to their ends. Where some fail the others go on; the first
// failure is thrown when all have ended.
template <class Task>
void run_together(Runner& runner, std::span<Task> tasks) {
  std::exception_ptr first;
  std::vector<WorkItem> items;
  std::vector<Task*> mine, left;
  for (Task& task : tasks) left.push_back(&task);
  const auto guarded = [&](auto&& doing) {
    try {
      return doing();
    } catch (...) {
      if (!first) first = std::current_exception();
      return false;
    }
  };
  while (!left.empty()) {
    items.clear();
    mine.clear();
    for (Task* task : left) {
      Work* work = nullptr;
      if (!guarded([&] { return (work = task->next_work()) != nullptr; })) continue;
      items.push_back({work});
      mine.push_back(task);
    }
    runner.step(items);
    left.clear();
    for (std::size_t i = 0; i < mine.size(); ++i)
      if (guarded([&] { return mine[i]->take(std::move(items[i].result)), true; })) left.push_back(mine[i]);
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace mplus::engine
