// mplus eval: does it remember? Runs tasks, reports, and compares two reports.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "mplus/cli/commands/command.h"
#include "mplus/cli/eval/circumstances.h"
#include "mplus/cli/eval/eval_progress.h"
#include "mplus/cli/eval/report_folder.h"
#include "mplus/cli/interrupt.h"
#include "mplus/cli/open_memory.h"
#include "mplus/cli/options.h"
#include "mplus/cli/output/json_output.h"
#include "mplus/cli/output/print.h"
#include "mplus/cli/output/progress_bar.h"
#include "mplus/cli/user_file.h"
#include "mplus/core/clock.h"
#include "mplus/core/error.h"
#include "mplus/engine/locate.h"
#include "mplus/eval/report/report.h"
#include "mplus/eval/report/results.h"
#include "mplus/eval/run/recorded_answers.h"
#include "mplus/eval/task/plan_file.h"
#include "mplus/eval/task/tasks.h"
#include "mplus/io/text/hash.h"

namespace mplus::cli {
namespace {

namespace fs = std::filesystem;

struct EvalOptions {
  ModelOptions model;
  MemoryOptions memory;
  std::vector<std::string> words;  // tasks, or report DIR, or compare A B
  std::vector<std::string> given;  // options on the command line, by their long names
  std::vector<std::string> data, distractors, answers;
  std::string columns, distances, lengths, depths, protocol = "stream", start = "empty", form, report, plan;
  std::string ask_in = "conversation", evidence, talk, part;
  std::int64_t samples = 0, max_tokens = 0, answer_tokens = 10;
  std::uint64_t seed = 0;
  bool force = false, json = false;
};

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    if (end > at) words.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

// "0,1,20k" → numbers; k and M count in thousands and millions.
std::vector<std::int64_t> numbers(const std::string& list, const char* option) {
  std::vector<std::int64_t> result;
  for (const std::string& word : split(list)) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    const std::string_view unit(end, static_cast<std::size_t>(word.data() + word.size() - end));
    if (error != std::errc{} || value < 0 || value > 1'000'000'000 ||
        (!unit.empty() && unit != "k" && unit != "M"))
      throw UsageError(fmt::format("{}: expected numbers such as 0,20,4k, found {}", option, word));
    result.push_back(value * (unit == "k" ? 1000 : unit == "M" ? 1000000 : 1));
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

// "2/4"
void take_part(eval::TaskOptions& options, const std::string& text) {
  const char* end = text.data() + text.size();
  const auto [slash, error] = std::from_chars(text.data(), end, options.part);
  const bool divided = error == std::errc{} && slash != end && *slash == '/';
  const bool numbers = divided && std::from_chars(slash + 1, end, options.parts).ptr == end;
  if (!numbers || options.part < 1 || options.part > options.parts)
    throw UsageError(fmt::format("--part: expected one such as 2/4, found {}", text));
  --options.part;
}

eval::TaskOptions task_options(const EvalOptions& o) {
  eval::TaskOptions options;
  for (const std::string& file : o.distractors) options.distractors.emplace_back(file);
  options.columns = split(o.columns);
  options.distances = numbers(o.distances, "--distances");
  options.lengths = numbers(o.lengths, "--lengths");
  options.depths = numbers(o.depths, "--depths");
  options.protocol = o.protocol == "separate" ? eval::Protocol::separate : eval::Protocol::stream;
  options.start = o.start == "full" ? eval::Start::full : eval::Start::empty;
  options.form = o.form;
  options.samples = o.samples;
  options.max_tokens = o.max_tokens;
  options.most_answer_tokens = o.answer_tokens;
  options.evidence = evidence_from_name(o.evidence);
  options.talk = talk_from_name(o.talk);
  if (!o.part.empty()) take_part(options, o.part);
  options.ask_in_conversation = o.ask_in == "conversation";
  options.seed = o.seed;
  return options;
}

class Evaluation {
 public:
  explicit Evaluation(const EvalOptions& options)
      : options_(options), folder_(options.report), results_(eval::read_results(folder_.path())) {}

  int run() {
    engine_ = open_engine(options_.model, options_.memory, true);
    for (const std::string& name : options_.words) {
      const std::vector<fs::path> data = eval::task_data(name, {options_.data.begin(), options_.data.end()});
      if (!options_.plan.empty()) {
        plan(name, data);
        continue;
      }
      for (const std::vector<fs::path>& files : runs_of(name, data))
        if (!run_task(name, files)) {
          note("mplus: stopped; what is finished is kept{}\n",
               folder_.temporary() ? " only with --report DIR" : ": run the same command again to go on");
          finish();
          return kFailed;
        }
    }
    if (options_.plan.empty()) finish();
    return kGood;
  }

 private:
  static std::vector<std::vector<fs::path>> runs_of(const std::string& name,
                                                    const std::vector<fs::path>& data) {
    if (eval::takes_sets(name)) return {data};
    std::vector<std::vector<fs::path>> runs;
    runs.reserve(data.size());
    for (const fs::path& file : data) runs.push_back({file});
    return runs;
  }

  eval::TaskRun task_run(const std::vector<fs::path>& data) {
    eval::TaskRun run{
        *engine_, [this]() -> engine::Engine& { return base(); }, task_options(options_), {}, nullptr};
    run.options.data = data.front();
    run.options.sets = data;
    return run;
  }

  void plan(const std::string& name, const std::vector<fs::path>& data) {
    const std::vector<std::vector<fs::path>> runs = runs_of(name, data);
    if (runs.size() > 1 || options_.words.size() > 1)
      throw UsageError("--plan: one task on one data file at a time");
    eval::TaskRun run = task_run(runs.front());
    const std::unique_ptr<eval::Task> task = eval::make_task(name);
    const eval::RunIdentity identity = task->prepare(run);
    UserFile file(options_.plan, options_.force);
    eval::write_plan(file.path(), *engine_, identity, task->planned());
    file.commit();
    put(fmt::format("{}: {}\n", options_.plan, identity.name));
  }

  // What is known of another program's run stands in the place of what is known of this one.
  static void take_circumstances(Json& entry, const Json& head) {
    for (const char* field : {"machine", "command"})
      if (head.contains(field)) entry[field] = head.at(field);
  }

  bool run_task(const std::string& name, const std::vector<fs::path>& data) {
    const auto start = Clock::now();
    eval::TaskRun run = task_run(data);
    const std::unique_ptr<eval::Task> task = eval::make_task(name);
    eval::RunIdentity identity = task->prepare(run);
    std::optional<eval::RecordedAnswers> answers;
    if (!options_.answers.empty()) {
      answers.emplace(std::vector<fs::path>(options_.answers.begin(), options_.answers.end()));
      check_answers(*answers, identity);
      identity.fields["model"]["numerics"] = answers->head().value("numerics", "");
      run.answers = &*answers;
    }
    eval::RunLog log(folder_.path() / (identity.name + ".samples.jsonl"), identity.fields);
    if (log.resumed() > 0)
      note("{}: going on, {} finished before\n", identity.name,
           plural(static_cast<std::int64_t>(log.resumed()), "sample"));
    EvalProgress progress(identity.name, interrupt_);
    run.progress = [&](std::int64_t done, std::int64_t total, std::string_view label) {
      return progress.show(done, total, label);
    };
    const bool complete = task->work(run, log);
    progress.clear();
    Json entry{{"name", identity.name}, {"complete", complete && run.options.parts == 1}};
    entry.update(circumstances(options_.model, engine_->device(), engine_->queue().pool().size()));
    if (answers) take_circumstances(entry, answers->head());
    entry["seconds"] = seconds_before(identity.name, log.resumed()) + seconds_since(start);
    entry["run"] = identity.fields;
    entry["samples"] = log.samples();
    names_.push_back(identity.name);
    eval::put_run(results_, std::move(entry));
    eval::write_results(folder_.path(), results_);
    if (answers && log.samples().size() < answers->size())
      fail(ErrorCode::corrupt, "{}: {} answers, only {} belong to this run; give the options of the plan",
           options_.answers.front(), answers->size(), log.samples().size());
    return complete;
  }

  // Answers to another plan, or of another delta, would be reported under a wrong name.
  void check_answers(const eval::RecordedAnswers& answers, const eval::RunIdentity& identity) const {
    if (answers.head().value("plan", "") != identity.name)
      fail(ErrorCode::invalid_argument, "{}: answers to {}, not to {}", options_.answers.front(),
           answers.head().value("plan", ""), identity.name);
    const auto& delta = engine_->files().delta;
    const std::string found = answers.head().value("delta_sha256", "");
    if (const std::string own = delta ? io::sha256_hex(*delta) : ""; own != found)
      fail(ErrorCode::model_mismatch, "{}: answers of another delta: expected SHA-256 {}, found {}",
           options_.answers.front(), own, found);
  }

  // Work of earlier commands on the same run.
  double seconds_before(const std::string& name, std::size_t resumed) const {
    for (const Json& run : results_["runs"])
      if (run["name"] == name && resumed > 0) return run.value("seconds", 0.0);
    return 0;
  }

  engine::Engine& base() {
    if (!base_) {
      ModelOptions plain = options_.model;
      plain.delta = "none";
      base_ = open_engine(plain, {}, false);
    }
    return *base_;
  }

  void finish() {
    const eval::ReportResult report = eval::write_report(folder_.path(), results_);
    Json json{{"runs", Json::array()}};
    for (const Json& run : results_["runs"]) {
      if (std::find(names_.begin(), names_.end(), run["name"].get<std::string>()) == names_.end()) continue;
      if (options_.json) {
        Json entry = run;
        entry["samples"] = run["samples"].size();
        json["runs"].push_back(std::move(entry));
      } else if (!run["samples"].empty()) {
        std::string text = fmt::format("{}\n\n", run["name"].get<std::string>());
        for (const eval::Table& table : eval::summarise(run).tables) text += eval::markdown_table(table);
        put(text);
      }
    }
    if (options_.json) put_json(json);
    if (!report.trouble.empty()) note("mplus: no plots: {}\n", report.trouble);
    if (!folder_.temporary() && !options_.json)
      put(fmt::format("{}: report.md, results.json, {}\n", folder_.path().string(),
                      plural(static_cast<std::int64_t>(report.plots), "plot")));
  }

  const EvalOptions& options_;
  ReportFolder folder_;
  Json results_;
  std::unique_ptr<engine::Engine> engine_, base_;
  std::vector<std::string> names_;  // of the runs of this command
  Interrupt interrupt_;
};

Json results_of(const std::string& folder) {
  if (!fs::exists(fs::path(folder) / "results.json"))
    fail(ErrorCode::not_found,
         "{}: expected a folder with results.json, as `mplus eval … --report DIR` makes it", folder);
  return eval::read_results(folder);
}

int redraw(const std::string& folder) {
  const Json results = results_of(folder);
  const eval::ReportResult report = eval::write_report(folder, results);
  if (!report.trouble.empty())
    fail(ErrorCode::io, "{}: report.md is written, plots are not: {}", folder, report.trouble);
  put(fmt::format("{}: report.md, {}\n", folder, plural(static_cast<std::int64_t>(report.plots), "plot")));
  return kGood;
}

int compare_folders(const std::string& a, const std::string& b) {
  const std::vector<eval::Table> tables = eval::compare(results_of(a), results_of(b), a, b);
  if (tables.empty()) fail(ErrorCode::not_found, "{} and {}: no run is in both", a, b);
  std::string text;
  for (const eval::Table& table : tables) text += eval::markdown_table(table);
  put(text);
  return kGood;
}

// An option that does nothing in the tasks at hand would be believed to do something.
void check_given(const EvalOptions& options) {
  for (const std::string& option : options.given) {
    const std::vector<std::string> tasks = eval::tasks_with(option);
    const bool known = std::any_of(options.words.begin(), options.words.end(), [&](const std::string& word) {
      return std::find(tasks.begin(), tasks.end(), word) != tasks.end();
    });
    if (!tasks.empty() && !known)
      throw UsageError(fmt::format("{}: it would do nothing in {}; it belongs to {}", option,
                                   fmt::join(options.words, ", "), fmt::join(tasks, ", ")));
  }
}

int evaluate(const EvalOptions& options) {
  const std::vector<std::string>& words = options.words;
  if (words.empty()) throw UsageError(fmt::format("eval: name a task: {}", eval::task_names()));
  if (words.front() == "report") {
    if (words.size() != 2) throw UsageError("eval report: name one folder");
    return redraw(words[1]);
  }
  if (words.front() == "compare") {
    if (words.size() != 3) throw UsageError("eval compare: name two folders");
    return compare_folders(words[1], words[2]);
  }
  for (const std::string& word : words)
    if (!eval::is_task(word))
      throw UsageError(fmt::format("eval: {} is no task; known: {}", word, eval::task_names()));
  check_given(options);
  if (!options.plan.empty() && !options.answers.empty()) throw UsageError("--plan or --answers, not both");
  if (!options.answers.empty() && words.size() > 1) throw UsageError("--answers: one task at a time");
  task_options(options);  // wrong lists are wrong usage, before anything is loaded
  return Evaluation(options).run();
}

CLI::Option* add(CLI::App& command, const std::string& name, auto& value, const std::string& help,
                 const std::string& type) {
  return command.add_option(name, value, help)->type_name(type);
}

// What is measured: the data, how much of it, and beside what.
void add_data_options(CLI::App& command, EvalOptions& options) {
  add(command, "--data", options.data,
      "questions or texts, JSON lines or .xz of it; a folder: the files known by name", "FILE|DIR")
      ->expected(1)
      ->take_all();
  add(command, "--distractors", options.distractors,
      "other text to write, JSON lines or .xz of it; several take turns", "FILE")
      ->expected(1)
      ->take_all();
  add(command, "--columns", options.columns, "what to run beside each other, such as closed-book,stm,mplus",
      "LIST");
  add(command, "--samples", options.samples, "questions, or texts, to take; default: the task's own", "N")
      ->check(CLI::Range(0, 10000000).description(""));
  add(command, "--distances", options.distances,
      "chunks written before asking; in a stream, the points at which all is asked", "LIST");
  add(command, "--lengths", options.lengths, "tokens of haystack or text, such as 4k,16k", "LIST");
  add(command, "--depths", options.depths, "where needles stand, in percent of the haystack", "LIST");
}

// How it is written and asked.
void add_asking_options(CLI::App& command, EvalOptions& options) {
  add_memory_type_option(command, options.memory.dtype,
                         "element type of the memories; int8, int4: of long-term rows; default: int8");
  add_choice(command, "--protocol", options.protocol, "one memory for all, or one for each question",
             {"stream", "separate"})
      ->capture_default_str();
  add_choice(command, "--start", options.start, "of each memory: empty, or full of other text",
             {"empty", "full"})
      ->capture_default_str();
  add_choice(command, "--form", options.form, "how a passage becomes a chunk; default: as the delta says",
             {"filled", "paper"});
  add_choice(command, "--ask-in", options.ask_in,
             "how conversations are asked about: by a turn of them, or in the delta's own form",
             {"conversation", "prompt"})
      ->capture_default_str();
  add_choice(
      command, "--evidence", options.evidence,
      "whether answers out of memory are checked by names, as mplus ask does; default: as the delta says",
      {"names", "none"});
  add_choice(command, "--talk", options.talk,
             "who answers talk and tasks: the base model by itself, as in mplus ask, or memory like anything "
             "else; default: as the delta says",
             {"base", "memory"});
  add(command, "-n,--max-tokens", options.max_tokens,
      "longest answer, in tokens; default: the task's own, mostly 12", "N")
      ->check(CLI::Range(1, 4096).description(""));
  add(command, "--answer-tokens", options.answer_tokens, "only questions with an answer this short", "N")
      ->capture_default_str()
      ->check(CLI::Range(1, 4096).description(""));
}

// What becomes of it.
void add_result_options(CLI::App& command, EvalOptions& options) {
  add(command, "--plan", options.plan, "only write what would be written and asked, for mplus-train evaluate",
      "FILE");
  add_force_option(command, options.force);
  add(command, "--part", options.part,
      "of a run with several memories only every Nth, from the Ith on; the logs of all parts make one run",
      "I/N");
  add(command, "--answers", options.answers,
      "judge and report answers that were given to the plan of these options; again for each part", "FILE")
      ->expected(1)
      ->take_all();
  add(command, "--report", options.report, "folder for results.json, report.md and plots", "DIR");
  add_seed_option(command, options.seed);
  add_json_option(command, options.json);
  add_model_options(command, options.model, "the default model's own");
}

}  // namespace

void add_eval(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<EvalOptions>();
  CLI::App* command = program.add_subcommand("eval",
                                             "Measure how much is remembered.\n"
                                             "Runs one or more tasks on data of yours and prints tables; "
                                             "with --report also result files and plots.\n"
                                             "A run that was stopped goes on where it was when the same "
                                             "command is given again. `eval report DIR` draws\n"
                                             "a report anew, `eval compare DIR DIR` puts two side by side.");
  command->add_option("TASK", options->words, eval::task_names() + "; or report DIR; or compare DIR DIR")
      ->type_name("");
  add_data_options(*command, *options);
  add_asking_options(*command, *options);
  add_result_options(*command, *options);
  command->footer(
      "Examples:\n"
      "  mplus eval retention --data questions.jsonl --distractors books.jsonl.xz --distances 20,40 --report "
      "out\n"
      "  mplus eval retention --data questions.jsonl --distractors books.jsonl.xz --protocol separate "
      "--columns mplus,stm\n"
      "  mplus eval compare out other");
  command->callback([options, command, &chosen] {
    for (const CLI::Option* option : command->get_options())
      if (option->count() > 0) options->given.push_back(option->get_name());
    chosen = [options] { return evaluate(*options); };
  });
}

}  // namespace mplus::cli
