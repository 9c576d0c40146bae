// What every task gets and gives. A task writes finished samples into the log and can be stopped between any
// two of them; run again, it goes on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mplus/core/recall_policy.h"
#include "mplus/engine/engine.h"
#include "mplus/eval/report/run_log.h"
#include "mplus/eval/run/columns.h"

namespace mplus::eval {

enum class Protocol { stream, separate };
enum class Start { empty, full };

struct TaskOptions {
  std::filesystem::path data;               // the first, where a task takes several at once
  std::vector<std::filesystem::path> sets;  // all of them
  std::vector<std::filesystem::path> distractors;
  std::vector<std::string> columns;     // empty: the task's own
  std::int64_t samples = 0;             // 0: the task's own
  std::vector<std::int64_t> distances;  // empty: the task's own
  std::vector<std::int64_t> lengths;    // of haystacks, in tokens; empty: the task's own
  std::vector<std::int64_t> depths;     // of needles, in percent; empty: the task\'s own
  Protocol protocol = Protocol::stream;
  Start start = Start::empty;
  std::string form;             // empty: as the delta says
  std::int64_t max_tokens = 0;  // 0: the task's own
  std::int64_t most_answer_tokens = 10;
  std::optional<EvidenceRule> evidence;  // how answers out of memory are checked; unset: as the delta says
  std::optional<TalkRule> talk;          // who answers what nobody need have told; unset: as the delta says
  bool ask_in_conversation = true;       // about conversations; false: in the delta's own form
  std::uint64_t seed = 0;
  // Of several memories only every `parts`-th, from number `part` on (of 0 …); the others are another
  // process's.
  std::int64_t part = 0, parts = 1;
  bool is_mine(std::size_t memory) const { return static_cast<std::int64_t>(memory) % parts == part; }
};

class RecordedAnswers;
struct Planned;

// Called between pieces of work with how much is done, in tokens or what is worth as many; false stops.
using TaskProgress = std::function<bool(std::int64_t done, std::int64_t total, std::string_view label)>;

// Makes the untouched base model when it is first wanted.
using BaseEngine = std::function<engine::Engine&()>;

struct TaskRun {
  engine::Engine& engine;
  BaseEngine base;
  TaskOptions options;
  TaskProgress progress;
  const RecordedAnswers* answers = nullptr;  // to be judged, instead of asking
};

// What a run is called, and all that its samples depend on.
struct RunIdentity {
  std::string name;
  Json fields;
};

class Task {
 public:
  virtual ~Task() = default;
  // Reads the data and fixes what will be done; throws where that cannot work out, before anything is run.
  virtual RunIdentity prepare(TaskRun& run) = 0;
  virtual bool work(TaskRun& run, RunLog& log) = 0;  // false: stopped before the end
  // What work() would write and ask, once prepared. Throws unsupported where a task is not of that kind.
  virtual Planned planned() const;
};

// Shared by the tasks: the model's part of an identity, and a data file's.
Json model_identity(engine::Engine& engine);
std::string_view evidence_identity(const engine::Engine& engine, const TaskOptions& options);
std::string_view talk_identity(const engine::Engine& engine, const TaskOptions& options);
Json file_identity(const std::filesystem::path& file);
std::string data_stem(
    const std::filesystem::path& file);  // "squad_dev_public" of …/squad_dev_public.jsonl.xz

}  // namespace mplus::eval
