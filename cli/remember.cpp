// mplus remember: documents into a memory file.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>

#include "mplus/cli/command.h"
#include "mplus/cli/documents.h"
#include "mplus/cli/interrupt.h"
#include "mplus/cli/memory_file.h"
#include "mplus/cli/options.h"
#include "mplus/cli/output/json_output.h"
#include "mplus/cli/output/progress_bar.h"
#include "mplus/core/error.h"
#include "mplus/engine/cutting.h"

namespace mplus::cli {
namespace {

struct RememberOptions {
  ModelOptions model;
  MemoryOptions memory;
  std::uint64_t seed = 0;
  std::vector<std::string> places;
  std::string ids;
  std::string source = "standard input";
  bool flush = false;
  bool json = false;
};

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Task {
  Document document;
  std::vector<io::TokenId> ids;  // instead of a text
  std::int64_t tokens = 0;
};

// What a number of tokens adds to a memory: every write leaves K rows in every layer.
double cost_bytes(const engine::Engine& engine, std::int64_t tokens) {
  const memory::Layout& layout = engine.layout();
  const auto writes = engine::cut_text(tokens, engine.chunk_tokens(), layout.K).size();
  return static_cast<double>(writes) * static_cast<double>(layout.K * layout.layers) *
         static_cast<double>(layout.row_cost_bytes());
}

class Remembering {
 public:
  Remembering(const RememberOptions& options, engine::Session& session, const MemoryLock& file)
      : options_(options), session_(session), file_(file) {}

  void run(const std::vector<Task>& tasks) {
    std::int64_t total = 0;
    for (const Task& task : tasks) total += task.tokens;
    announce(tasks, total);
    ProgressBar bar("tok", total);
    for (const Task& task : tasks) {
      if (interrupt_.requested()) break;
      const auto progress = [&](std::int64_t done, std::int64_t of) {
        // `of` counts what waited before this text, too.
        bar.show(done_tokens_ + std::max<std::int64_t>(0, task.tokens - (of - done)), task.document.name);
        return !interrupt_.requested();
      };
      write(task, progress);
      if (seconds_since(saved_) > kSaveSeconds) save();
    }
    if (options_.flush && !interrupt_.requested()) updates_ += session_.flush();
    bar.clear();
    save();
  }

  bool interrupted() const { return interrupt_.requested(); }
  std::int64_t tokens() const { return done_tokens_; }
  std::int64_t updates() const { return updates_; }
  const Json& documents() const { return documents_; }

 private:
  static constexpr double kSaveSeconds = 60;  // between saves of a long run

  void announce(const std::vector<Task>& tasks, std::int64_t total) const {
    fmt::print(stderr, "{}, {}: about {} of memory\n",
               plural(static_cast<std::int64_t>(tasks.size()), "document"), plural(total, "token"),
               size_text(cost_bytes(session_.engine(), total)));
    for (const Task& task : tasks)
      for (std::int64_t s = 0; s < session_.record().sources(); ++s)
        if (!task.document.text.empty() && session_.record().source(s).text == task.document.text) {
          fmt::print(stderr, "note: {} is in this memory already; it is written again\n",
                     printable(task.document.name));
          break;
        }
  }

  void write(const Task& task, const engine::Progress& progress) {
    const engine::RememberResult result =
        task.document.text.empty() ? session_.remember_ids(task.ids, task.document.name, progress)
                                   : session_.remember(task.document.text, task.document.name, progress);
    const std::int64_t written =
        result.complete ? result.tokens
                        : std::min(result.tokens, result.updates * session_.engine().chunk_tokens());
    done_tokens_ += written;
    updates_ += result.updates;
    documents_.push_back({{"source", task.document.name},
                          {"bytes", task.document.text.size()},
                          {"tokens", result.tokens},
                          {"updates", result.updates},
                          {"complete", result.complete}});
  }

  void save() {
    session_.save(file_.file());
    saved_ = Clock::now();
  }

  const RememberOptions& options_;
  engine::Session& session_;
  const MemoryLock& file_;
  Interrupt interrupt_;
  Clock::time_point saved_ = Clock::now();
  std::int64_t done_tokens_ = 0;
  std::int64_t updates_ = 0;
  Json documents_ = Json::array();
};

std::vector<Task> make_tasks(const RememberOptions& options, Documents& documents,
                             const engine::Engine& engine) {
  std::vector<Task> tasks;
  if (!options.ids.empty()) {
    Task task;
    task.document.name = "token ids";
    task.ids = parse_ids(options.ids);
    if (task.ids.empty()) throw UsageError("--ids: the list is empty");
    task.tokens = static_cast<std::int64_t>(task.ids.size());
    tasks.push_back(std::move(task));
  }
  for (Document& document : documents.accepted) {
    Task task;
    task.document = std::move(document);
    task.tokens = static_cast<std::int64_t>(engine.tokenizer().encode(task.document.text).size());
    tasks.push_back(std::move(task));
  }
  return tasks;
}

void report(const RememberOptions& options, const Remembering& work, const Documents& documents,
            const engine::Session& session, double seconds) {
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(options.memory.file));
  const auto waiting = static_cast<std::int64_t>(session.window().size());
  const double rate = static_cast<double>(work.tokens()) / seconds;
  if (options.json) {
    Json json;
    json["memory"] = options.memory.file;
    json["documents"] = work.documents();
    json["failed"] = Json::array();
    for (const auto& rejected : documents.rejected)
      json["failed"].push_back({{"source", rejected.name}, {"error", rejected.reason}});
    json["complete"] = !work.interrupted();
    json["tokens"] = work.tokens();
    json["updates"] = work.updates();
    json["waiting_tokens"] = waiting;
    json["total_updates"] = session.memory().updates();
    json["total_sources"] = session.record().sources();
    json["file_bytes"] = size;
    json["seconds"] = seconds;
    json["tokens_per_second"] = rate;
    put_json(json);
    return;
  }
  if (!put(fmt::format("{}{} in {}, {} ({:.0f} tok/s); {} is {}\n", work.interrupted() ? "Stopped: " : "",
                       plural(work.tokens(), "token"), plural(work.updates(), "write"),
                       duration_text(seconds), rate, options.memory.file,
                       size_text(static_cast<double>(size)))))
    fail(ErrorCode::io, "standard output: cannot write");
  if (waiting > 0)
    fmt::print(stderr,
               "{} too short for a write of their own: kept as text until more comes (--flush writes them)\n",
               waiting == 1 ? "1 token is" : plural(waiting, "token") + " are");
}

int remember(const RememberOptions& options) {
  if (options.memory.file.empty()) throw UsageError("remember: --memory FILE: name the file to remember in");
  if (options.places.empty() && options.ids.empty() && !options.flush)
    throw UsageError("remember: name a file, a folder, or - for standard input");
  Documents documents = read_documents(options.places, options.source);
  for (const RejectedDocument& rejected : documents.rejected)
    fmt::print(stderr, "mplus: {}\n", printable(rejected.reason));
  if (documents.accepted.empty() && options.ids.empty() && !options.flush) return kFailed;
  const MemoryLock file(options.memory.file);
  const auto engine = open_engine(options.model, options.memory, true);
  const std::vector<Task> tasks = make_tasks(options, documents, *engine);
  engine::Session session = file.open(*engine, options.seed);
  Remembering work(options, session, file);
  const auto start = Clock::now();
  work.run(tasks);
  report(options, work, documents, session, seconds_since(start));
  return work.interrupted() || !documents.rejected.empty() ? kFailed : kGood;
}

}  // namespace

void add_remember(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<RememberOptions>();
  CLI::App* command = program.add_subcommand("remember",
                                             "Write documents into a memory.\n"
                                             "Reads text and Markdown files, whole folders of them, or "
                                             "standard input (-), and writes them into the\n"
                                             "memory file, which is made if it is not there. What cannot be "
                                             "read is named and left out. Ctrl-C stops\n"
                                             "and keeps what was written so far.");
  command->add_option("FILE", options->places, "files, folders, or - for standard input")->type_name("");
  command->add_option("--ids", options->ids, "token ids instead of text, or - to read them")
      ->type_name("LIST");
  command->add_option("--source", options->source, "what to call standard input")->type_name("NAME");
  command->add_flag("--flush", options->flush, "also write what is too short for a write of its own");
  add_seed_option(*command, options->seed);
  add_json_option(*command, options->json);
  add_memory_options(*command, options->memory, "the memory to write to; made if it is not there");
  add_new_memory_options(*command, options->memory);
  add_model_options(*command, options->model, "the default model's own");
  command->footer(
      "Examples:\n"
      "  mplus remember notes/ diary.md --memory my.safetensors\n"
      "  curl -s https://example.com/page.txt | mplus remember - --source page --memory my.safetensors");
  command->callback([options, &chosen] { chosen = [options] { return remember(*options); }; });
}

}  // namespace mplus::cli
