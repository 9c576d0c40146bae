#include "mplus/cli/chat_session.h"

#include <fmt/core.h>

#include <array>
#include <filesystem>

#include "mplus/cli/documents.h"
#include "mplus/cli/output/answer_output.h"
#include "mplus/cli/output/json_output.h"
#include "mplus/cli/output/progress_bar.h"
#include "mplus/cli/output/why_output.h"
#include "mplus/core/error.h"

namespace mplus::cli {
namespace {

constexpr std::string_view kHelp =
    "/remember FILE   write a document, or a folder of them, into the memory\n"
    "/why             the passages the last answer was recalled from\n"
    "/sources         what was said and read so far\n"
    "/stats           sizes of memory and window\n"
    "/flush           write what waits in the window into the memory\n"
    "/save [FILE]     save now, or to another file\n"
    "/fork FILE       save a copy to another file and go on here\n"
    "/help            this\n"
    "/quit            end; so does Ctrl-D\n"
    "Ctrl-C stops an answer.\n";

}  // namespace

ChatSession::ChatSession(const ChatOptions& options) : options_(options) {
  if (!options.memory.file.empty()) file_.emplace(options.memory.file);
  engine_ = open_engine(options.model, options.memory, true);
  if (!engine_->chat_template())
    fail(ErrorCode::unsupported,
         "chat: this model's files name no chat template; `mplus ask` and `mplus generate` need none");
  session_.emplace(file_ ? file_->open(*engine_, options.seed) : engine::Session(*engine_, options.seed));
  if (!options.system.empty()) session_->set_system_message(options.system);
  if (!engine_->has_memory()) {
    fmt::print(stderr, "note: a plain model without a memory: it forgets when its context is full\n");
  } else if (!engine_->weights().memory->chat_trained) {
    fmt::print(stderr,
               "note: this delta was not trained for conversation; `mplus ask` uses the form it knows\n");
  }
}

void ChatSession::print(std::string_view text) const {
  if (options_.json) {  // standard output is for the answers then
    fmt::print(stderr, "{}", text);
  } else if (!put(text)) {
    fail(ErrorCode::io, "standard output: cannot write");
  }
}

bool ChatSession::handle(const std::string& line, Interrupt& interrupt) {
  const std::string text = trimmed(line);
  if (text.empty()) return true;
  if (text.front() != '/') {
    say(text, interrupt);
    return true;
  }
  const std::size_t space = std::min(text.find(' '), text.size());
  return command(std::string_view(text).substr(0, space), trimmed(text.substr(space)), interrupt);
}

void ChatSession::say(const std::string& message, Interrupt& interrupt) {
  engine::GenerateOptions how = generate_options(options_.sampling, options_.memory, options_.seed);
  how.cancel = &interrupt.flag();
  how.why = true;
  AnswerStream stream(!options_.json, true);
  how.on_text = [&](std::string_view piece) { return stream.write(piece); };
  engine::Session next = session_->fork();  // a turn that fails leaves no half of itself behind
  engine::Answer answer = next.say(message, how);
  session_.emplace(std::move(next));
  why_ = std::move(answer.why);
  answered_ = true;
  save();
  stream.end();
  if (options_.json) {
    Json json;
    json["message"] = message;
    answer.why = why_;
    json.update(answer_json(answer, session_->record(), true));
    put_json(json);
  }
}

bool ChatSession::command(std::string_view name, const std::string& argument, Interrupt& interrupt) {
  if (name == "/quit" || name == "/exit") return false;
  const bool needs_file = name == "/remember" || name == "/fork";
  if (needs_file && argument.empty()) {
    fmt::print(stderr, "{} FILE: the name is missing\n", name);
  } else if (name == "/help") {
    print(kHelp);
  } else if (name == "/remember") {
    remember(argument, interrupt);
  } else if (name == "/why") {
    show_why();
  } else if (name == "/sources") {
    show_sources();
  } else if (name == "/stats") {
    show_stats();
  } else if (name == "/flush") {
    print(fmt::format("{}\n", plural(session_->flush(), "write")));
    save();
  } else if (name == "/fork" || (name == "/save" && !argument.empty())) {
    save_copy(argument);
  } else if (name == "/save") {
    if (!file_) fail(ErrorCode::invalid_argument, "/save FILE: this chat has no memory file; name one");
    save();
    print("saved\n");
  } else if (name == "/forget" || name == "/undo") {
    fmt::print(stderr, "{} needs a session store, which this version does not have\n", name);
  } else {
    fmt::print(stderr, "{} is not known; /help lists what is\n", one_line(name, 40));
  }
  return true;
}

void ChatSession::remember(const std::string& place, Interrupt& interrupt) {
  const Documents documents = read_documents({place}, "standard input");
  for (const RejectedDocument& rejected : documents.rejected)
    fmt::print(stderr, "mplus: {}\n", printable(rejected.reason));
  for (const Document& document : documents.accepted) {
    if (interrupt.requested()) break;
    std::optional<ProgressBar> bar;
    const engine::RememberResult result =
        session_->remember(document.text, document.name, [&](std::int64_t done, std::int64_t total) {
          if (!bar) bar.emplace("tok", total);
          bar->show(done, document.name);
          return !interrupt.requested();
        });
    bar.reset();
    print(fmt::format("{}{}: {} in {}\n", result.complete ? "" : "stopped: ", printable(document.name),
                      plural(result.tokens, "token"), plural(result.updates, "write")));
  }
  if (!documents.accepted.empty()) save();
}

void ChatSession::show_why() const {
  print(answered_ ? why_text(why_, session_->record(), standard_output()) : "There is no answer yet.\n");
}

void ChatSession::show_sources() const {
  const engine::Record& record = session_->record();
  std::string text;
  for (std::int64_t s = 0; s < record.sources(); ++s) {
    const engine::Source& source = record.source(s);
    text += fmt::format("{:4}  {:9}  {:>9}  {}\n", s, engine::speaker_name(source.speaker),
                        size_text(static_cast<double>(source.text.size())), one_line(source.name, 60));
  }
  print(text.empty() ? "Nothing yet.\n" : text);
}

void ChatSession::show_stats() const {
  const memory::Memory& memory = session_->memory();
  const memory::Layout& layout = memory.layout();
  std::string text = fmt::format(
      "turns             {}\nwindow            {} of {} tokens\n", session_->turns(),
      count_text(static_cast<std::int64_t>(session_->window().size())), count_text(engine_->window_tokens()));
  if (engine_->has_memory())
    text += fmt::format(
        "writes            {}\nshort-term rows   {} of {} a layer\nlong-term rows    {} a layer\nmemory      "
        "      {}\n",
        count_text(memory.updates()), count_text(memory.short_term(0).n), count_text(layout.N),
        count_text(layout.has_long_term() ? memory.long_term().size(0) : 0),
        size_text(static_cast<double>(memory.size_bytes())));
  print(text);
}

void ChatSession::save() {
  if (file_) session_->save(file_->file());
}

void ChatSession::save_copy(const std::string& file) {
  const MemoryLock copy(file);
  if (std::filesystem::exists(copy.file()))
    fail(ErrorCode::invalid_argument, "{}: is there already; name a new file", file);
  session_->save(copy.file());
  print(fmt::format("saved to {}\n", printable(file)));
}

}  // namespace mplus::cli
