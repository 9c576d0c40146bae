#include "mplus/eval/task/tasks.h"

#include <algorithm>

#include "mplus/core/error.h"
#include "mplus/eval/task/cost.h"
#include "mplus/eval/task/loss.h"
#include "mplus/eval/task/retention/retention.h"
#include "mplus/eval/task/script.h"

namespace mplus::eval {
namespace {

namespace fs = std::filesystem;

struct Entry {
  const char* name;
  std::unique_ptr<Task> (*make)();
  std::vector<const char*> known;         // files of a data folder, without ending
  std::vector<std::string_view> options;  // of those that only some tasks know
  bool sets = false;                      // all of its files in one run
};

const std::vector<Entry>& entries() {
  static const std::vector<Entry> kEntries{
      {"retention",
       make_retention,
       {"facts_public", "squad_dev_public", "nq_public"},
       {"--distractors", "--distances", "--protocol", "--start", "--form", "--answer-tokens", "--evidence",
        "--talk"}},
      {"lm-loss", make_lm_loss, {"books_valid"}, {"--distances", "--lengths"}},
      {"base", make_base, {"books_valid"}, {"--lengths"}},
      {"mixed",
       make_mixed,
       {"facts_public", "squad_dev_public", "nq_public", "books_valid"},
       {"--distractors", "--distances", "--lengths", "--answer-tokens", "--ask-in", "--evidence", "--talk",
        "--part"},
       true},
      {"needle", make_needle, {"essays"}, {"--lengths", "--depths", "--protocol", "--evidence", "--talk"}},
      {"twice", make_twice, {"twice_public"}, {"--distractors", "--distances", "--evidence", "--talk"}},
      {"unknown", make_unknown, {"unknown_public"}, {"--distractors", "--distances", "--evidence", "--talk"}},
      {"chat",
       make_chat,
       {"chat_facts_public"},
       {"--distractors", "--distances", "--ask-in", "--evidence", "--talk"}},
      {"chains", make_chains, {"chains_public"}, {"--distractors", "--distances", "--evidence", "--talk"}},
      {"longbench",
       make_long_documents,
       {"narrativeqa", "qasper", "multifieldqa_en", "hotpotqa", "2wikimqa", "musique", "longbook_qa_eng",
        "longbook_choice_eng", "eventqa", "locomo10"},
       {"--evidence", "--talk"}},
      {"cost", make_cost, {}, {"--lengths"}},
  };
  return kEntries;
}

const Entry& entry(const std::string& name) {
  const auto at =
      std::find_if(entries().begin(), entries().end(), [&](const Entry& e) { return e.name == name; });
  MPLUS_CHECK(at != entries().end(), "task {}", name);
  return *at;
}

}  // namespace

std::string task_names() {
  std::string names;
  for (const Entry& e : entries()) names += fmt::format("{}{}", names.empty() ? "" : ", ", e.name);
  return names;
}

bool is_task(const std::string& name) {
  return std::any_of(entries().begin(), entries().end(), [&](const Entry& e) { return e.name == name; });
}

std::vector<std::string> tasks_with(std::string_view option) {
  std::vector<std::string> names;
  for (const Entry& e : entries())
    if (std::find(e.options.begin(), e.options.end(), option) != e.options.end()) names.emplace_back(e.name);
  return names;
}

bool takes_sets(const std::string& name) { return entry(name).sets; }

std::unique_ptr<Task> make_task(const std::string& name) { return entry(name).make(); }

std::vector<fs::path> task_data(const std::string& name, const std::vector<fs::path>& named) {
  const Entry& task = entry(name);
  if (task.known.empty()) return {fs::path()};
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const fs::path& place : named) {
    if (!fs::is_directory(place, ignored)) {
      files.push_back(place);
      continue;
    }
    for (const char* stem : task.known)
      for (const char* ending : {".jsonl", ".jsonl.xz", ".json"})
        if (const fs::path file = place / (std::string(stem) + ending); fs::exists(file, ignored))
          files.push_back(file);
  }
  if (files.empty()) {
    std::string known;
    for (const char* stem : task.known)
      known += fmt::format("{}{}.jsonl[.xz]", known.empty() ? "" : ", ", stem);
    fail(ErrorCode::invalid_argument, "{}: name its data with --data FILE, or a folder that holds {}", name,
         known);
  }
  return files;
}

}  // namespace mplus::eval
