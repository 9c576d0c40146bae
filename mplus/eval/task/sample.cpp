#include "mplus/eval/task/sample.h"

#include <algorithm>

#include "mplus/core/error.h"
#include "mplus/eval/metric/words.h"

namespace mplus::eval {

void put_answer(Json& sample, const Asked& asked, const Golds& golds) {
  if (!asked.applicable) {
    sample["applicable"] = false;
    return;
  }
  const AnswerScore score = score_answer(asked.output, golds);
  sample["output"] = asked.output;
  sample["exact"] = score.exact;
  sample["hit"] = score.hit;
  sample["verbatim"] = score.verbatim;
  sample["f1"] = score.f1;
  sample["unknown"] = says_unknown(first_line(asked.output));
  put_time(sample, asked);
}

void put_time(Json& sample, const Asked& asked) {
  sample["seconds"] = asked.seconds;
  if (asked.first_seconds > 0) sample["first_ms"] = 1000 * asked.first_seconds;
  if (!asked.refuted.empty()) sample["refuted"] = asked.refuted;
}

void put_memory(Json& sample, const Asked& asked, const Presence::Share& share) {
  sample["short_term"] = share.short_term;
  sample["long_term"] = share.long_term;
  if (asked.recalled) {
    sample["recalled"] = *asked.recalled;
    sample["recalled_layers"] = asked.recalled_layers;
    // Found: at least half of what is in the long-term store of it came back.
    if (share.long_term > 0) sample["found"] = 2 * *asked.recalled >= share.long_term;
  }
  if (asked.rank) sample["rank"] = *asked.rank;
}

bool wants_base(const std::vector<Column>& columns) {
  return std::any_of(columns.begin(), columns.end(), [](const Column& c) { return c.base_model(); });
}

std::vector<Column> task_columns(const TaskOptions& options, const std::vector<std::string>& otherwise) {
  return columns_from_names(options.columns.empty() ? otherwise : options.columns);
}

void require_memory(const engine::Engine& engine, const char* task) {
  if (!engine.has_memory())
    fail(ErrorCode::invalid_argument,
         "{}: this model is a plain decoder without a memory; name a delta for it", task);
}

}  // namespace mplus::eval
