// Answers that something else than this program gave to a plan (docs/evaluation.md, "Plans"): read from a
// file, to be judged and reported as if they had been given here.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "mplus/eval/report/run_log.h"
#include "mplus/eval/run/asker.h"

namespace mplus::eval {

class RecordedAnswers {
 public:
  // One plan may have been answered in parts: several files, of the same plan and delta.
  explicit RecordedAnswers(const std::vector<std::filesystem::path>& files);

  const Json& head() const { return head_; }  // plan, model, delta, numerics, machine, command
  std::size_t size() const { return answers_.size(); }

  struct Answer {
    Asked asked;
    std::optional<Presence::Share> share;  // of the passage's rows; of memory columns
  };
  // By the key its sample has in a log; nothing: it was not asked.
  std::optional<Answer> find(const std::string& key) const;

 private:
  void read(const std::filesystem::path& file);

  Json head_;
  std::unordered_map<std::string, Json> answers_;
};

}  // namespace mplus::eval
