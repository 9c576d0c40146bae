// mplus remember: documents into a memory.
#include <fmt/core.h>

#include <algorithm>

#include "mplus/cli/commands/command.h"
#include "mplus/cli/documents.h"
#include "mplus/cli/interrupt.h"
#include "mplus/cli/open_memory.h"
#include "mplus/cli/options.h"
#include "mplus/cli/output/json_output.h"
#include "mplus/cli/output/print.h"
#include "mplus/cli/output/progress_bar.h"
#include "mplus/core/clock.h"
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
  bool again = false;
  bool json = false;
};

struct DocumentTask {
  Document document;
  std::vector<io::TokenId> ids;    // instead of a text
  io::Tokenizer::Offsets encoded;  // a text's: they are counted before it is read

  std::int64_t tokens() const { return std::ssize(ids) + std::ssize(encoded.ids); }
};

// What documents add to a memory: every write leaves K rows in every layer that keeps a memory. Documents are
// cut each for itself, but those under K tokens wait for one another.
double cost_bytes(const engine::Session& session, const std::vector<const DocumentTask*>& tasks) {
  const memory::Layout& layout = session.memory().layout();
  const std::int64_t C = session.engine().chunk_tokens();
  std::size_t writes = 0;
  std::int64_t waiting = 0;
  for (const DocumentTask* task : tasks) {
    if (task->tokens() < layout.K) waiting += task->tokens();
    else writes += engine::cut_text(task->tokens(), C, layout.K).size();
  }
  writes += engine::cut_text(waiting, C, layout.K).size();
  return static_cast<double>(writes) * static_cast<double>(layout.K * layout.remembering_layers()) *
         static_cast<double>(layout.row_cost_bytes(layout.long_term));
}

class Remembering {
 public:
  Remembering(const RememberOptions& options, OpenMemory& memory) : options_(options), memory_(memory) {}

  void run(const std::vector<DocumentTask>& tasks) {
    std::int64_t total = 0;
    std::vector<const DocumentTask*> to_do;
    for (const DocumentTask& task : tasks) {
      if (!options_.again && is_known(task)) {
        skipped_.push_back(task.document.name);
      } else {
        total += task.tokens();
        to_do.push_back(&task);
      }
    }
    announce(to_do, total);
    ProgressBar bar("tok", total);
    for (const DocumentTask* next : to_do) {
      const DocumentTask& task = *next;
      if (interrupt_.requested()) break;
      const auto progress = [&](std::int64_t done, std::int64_t of) {
        // `of` counts what waited before this text, too.
        bar.show(done_tokens_ + std::max<std::int64_t>(0, task.tokens() - (of - done)), task.document.name);
        return !interrupt_.requested();
      };
      write(task, progress);
      if (seconds_since(saved_) > kSaveSeconds) save();
    }
    if (options_.flush && !interrupt_.requested()) updates_ += memory_.flush();
    bar.clear();
    save();
  }

  bool interrupted() const { return interrupt_.requested(); }
  std::int64_t tokens() const { return done_tokens_; }
  std::int64_t updates() const { return updates_; }
  const Json& documents() const { return documents_; }
  const std::vector<std::string>& skipped() const { return skipped_; }  // unchanged since they were read

 private:
  static constexpr double kSaveSeconds = 60;  // between saves of a long run

  static engine::Document as_document(const DocumentTask& task) {
    return {.source = task.document.name,
            .text = task.document.text,
            .ids = task.ids,
            .encoded = task.ids.empty() ? &task.encoded : nullptr};
  }

  bool is_known(const DocumentTask& task) const {
    return memory_.stored() && memory_.stored()->document(as_document(task)).complete;
  }

  void announce(const std::vector<const DocumentTask*>& tasks, std::int64_t total) const {
    const engine::Session& session = memory_.session();
    if (!skipped_.empty())
      note("{} unchanged since {} read: left out (--again writes them once more)\n",
           plural(static_cast<std::int64_t>(skipped_.size()), "document"),
           skipped_.size() == 1 ? "it was" : "they were");
    note("{}, {}: about {} of memory\n", plural(static_cast<std::int64_t>(tasks.size()), "document"),
         plural(total, "token"), size_text(cost_bytes(session, tasks)));
    for (const DocumentTask* task : tasks)
      for (std::int64_t s = 0; s < session.record().sources(); ++s) {
        const engine::Source& source = session.record().source(s);
        const bool same_text = !task->document.text.empty() && source.text == task->document.text;
        if (same_text && !memory_.stored())
          note("note: {} is in this memory already; it is written again\n", printable(task->document.name));
        if (!same_text && memory_.stored() && source.name == task->document.name &&
            source.speaker == engine::Speaker::document)
          note("note: {} has changed; what it said before is remembered, too, until it is forgotten\n",
               printable(task->document.name));
        if (same_text || source.name == task->document.name) break;
      }
  }

  void write(const DocumentTask& task, const engine::Progress& progress) {
    const engine::RememberResult result = memory_.remember(as_document(task), progress);
    done_tokens_ += result.token_end - result.token_begin;
    updates_ += result.updates;
    documents_.push_back({{"source", task.document.name},
                          {"bytes", task.document.text.size()},
                          {"tokens", result.tokens},
                          {"updates", result.updates},
                          {"complete", result.complete}});
  }

  void save() {
    memory_.save();
    saved_ = Clock::now();
  }

  const RememberOptions& options_;
  OpenMemory& memory_;
  Interrupt interrupt_;
  Clock::time_point saved_ = Clock::now();
  std::int64_t done_tokens_ = 0;
  std::int64_t updates_ = 0;
  Json documents_ = Json::array();
  std::vector<std::string> skipped_;
};

std::vector<DocumentTask> make_tasks(const RememberOptions& options, Documents& documents,
                                     const engine::Engine& engine) {
  std::vector<DocumentTask> tasks;
  if (!options.ids.empty()) {
    DocumentTask task;
    task.document.name = "token ids";
    task.ids = parse_ids(options.ids);
    if (task.ids.empty()) throw UsageError("--ids: the list is empty");
    tasks.push_back(std::move(task));
  }
  for (Document& document : documents.accepted) {
    DocumentTask task;
    task.document = std::move(document);
    task.encoded = engine.tokenizer().encode_with_offsets(task.document.text);
    tasks.push_back(std::move(task));
  }
  return tasks;
}

std::string waiting_text(std::int64_t waiting, bool flushed) {
  const std::string tokens = waiting == 1 ? "1 token is" : plural(waiting, "token") + " are";
  if (waiting < engine::kLeastChunk)
    return fmt::format("{} kept as text until more comes: a write takes {} or more\n", tokens,
                       engine::kLeastChunk);
  return fmt::format("{} too short for a write of their own: kept as text until more comes{}\n", tokens,
                     flushed ? "" : " (--flush writes them)");
}

void report(const RememberOptions& options, const Remembering& work, const Documents& documents,
            OpenMemory& memory, double seconds) {
  const engine::Session& session = memory.session();
  const std::int64_t size = memory.disk_bytes();
  const auto waiting = static_cast<std::int64_t>(session.window().size());
  const double rate = static_cast<double>(work.tokens()) / seconds;
  if (options.json) {
    Json json;
    if (memory.stored()) {
      json["session"] = options.memory.session;
    } else {
      json["memory"] = options.memory.file;
    }
    json["documents"] = work.documents();
    json["failed"] = Json::array();
    for (const auto& rejected : documents.rejected)
      json["failed"].push_back({{"source", rejected.name}, {"error", rejected.reason}});
    json["unchanged"] = work.skipped();
    json["complete"] = !work.interrupted();
    json["tokens"] = work.tokens();
    json["updates"] = work.updates();
    json["waiting_tokens"] = waiting;
    json["total_updates"] = session.memory().updates();
    json["total_sources"] = session.record().sources();
    json[memory.stored() ? "disk_bytes" : "file_bytes"] = size;
    json["seconds"] = seconds;
    json["tokens_per_second"] = rate;
    put_json(json);
    return;
  }
  put(fmt::format("{}{} in {}, {} ({:.0f} tok/s); {} is {}\n", work.interrupted() ? "Stopped: " : "",
                  plural(work.tokens(), "token"), plural(work.updates(), "write"), duration_text(seconds),
                  rate, printable(memory.name()), size_text(static_cast<double>(size))));
  if (waiting > 0) write_to_errors(waiting_text(waiting, options.flush));
}

int remember(RememberOptions options) {
  choose_memory(options.memory, Fallback::session);
  if (options.memory.session.empty() && options.memory.file.empty())
    throw UsageError("remember: --session none: there must be a session, or a file, to remember in");
  if (options.places.empty() && options.ids.empty() && !options.flush)
    throw UsageError("remember: name a file, a folder, or - for standard input");
  Documents documents = read_documents(options.places, options.source);
  for (const RejectedDocument& rejected : documents.rejected) note("mplus: {}\n", printable(rejected.reason));
  if (documents.accepted.empty() && options.ids.empty() && !options.flush) return kFailed;
  const auto engine = open_engine(options.model, options.memory, true);
  const std::vector<DocumentTask> tasks = make_tasks(options, documents, *engine);
  OpenMemory memory(*engine, options.memory, options.seed, store::Access::write);
  Remembering work(options, memory);
  const auto start = Clock::now();
  work.run(tasks);
  if (memory.stored()) memory.stored()->close();
  report(options, work, documents, memory, seconds_since(start));
  return work.interrupted() || !documents.rejected.empty() ? kFailed : kGood;
}

}  // namespace

void add_remember(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<RememberOptions>();
  CLI::App* command = program.add_subcommand(
      "remember",
      "Write documents into a memory.\n"
      "Reads text, Markdown, HTML, PDF, EPUB and .docx files, whole folders of "
      "them, or standard input (-), and\n"
      "writes their text into a session, `default` unless --session names another. "
      "What cannot be read is named\n"
      "and left out. PDF needs the program pdftotext (package poppler-utils). Ctrl-C stops and "
      "keeps what was\n"
      "written so far; run again, it goes on there and leaves out what has not changed.");
  command->add_option("FILE", options->places, "files, folders, or - for standard input")->type_name("");
  command->add_option("--ids", options->ids, "token ids instead of text, or - to read them")
      ->type_name("LIST");
  command->add_option("--source", options->source, "what to call standard input")->type_name("NAME");
  command->add_flag("--flush", options->flush, "also write what is too short for a write of its own");
  command->add_flag("--again", options->again, "also write what the session has read before");
  command->add_flag(
      "--batch", options->memory.batch,
      "faster with many small documents: what was written last survives the end of this process, but\n"
      "not of the machine");
  add_seed_option(*command, options->seed);
  add_json_option(*command, options->json);
  add_memory_options(*command, options->memory, "the memory to write to; made if it is not there");
  add_new_memory_options(*command, options->memory);
  add_model_options(*command, options->model, "the default model's own");
  command->footer(
      "Examples:\n"
      "  mplus remember notes/ diary.md book.epub paper.pdf\n"
      "  curl -s https://example.com/page.txt | mplus remember - --source page --session web");
  command->callback([options, &chosen] { chosen = [options] { return remember(*options); }; });
}

}  // namespace mplus::cli
