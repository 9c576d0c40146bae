// What a finished sample says, in the words all tasks share.
#pragma once

#include "mplus/eval/metric/answer_score.h"
#include "mplus/eval/run/asker.h"
#include "mplus/eval/task/task.h"

namespace mplus::eval {

// Output and scores, or that the column cannot answer here.
void put_answer(Json& sample, const Asked& asked, const Golds& golds);
// Seconds, milliseconds to the first token, and what was passed over on the way.
void put_time(Json& sample, const Asked& asked);
// Where the passage's rows are, and what came back of them.
void put_memory(Json& sample, const Asked& asked, const Presence::Share& share);

// How far a task is, in tokens written or what takes as long.
class Steps {
 public:
  static constexpr std::int64_t kAsk = 150;  // an answer takes about as long as writing this many tokens

  Steps(const TaskProgress& progress, std::int64_t total) : progress_(progress), total_(total) {}
  // Before and after a piece of work; false: stop.
  bool go(const std::string& label) { return !progress_ || progress_(done_, total_, label); }
  void did(std::int64_t cost) { done_ += cost; }

 private:
  const TaskProgress& progress_;
  std::int64_t total_, done_ = 0;
};

bool wants_base(const std::vector<Column>& columns);
std::vector<Column> task_columns(const TaskOptions& options, const std::vector<std::string>& otherwise);
void require_memory(const engine::Engine& engine, const char* task);

}  // namespace mplus::eval
