#include "mplus/cli/commands/chat_session.h"

#include <fmt/core.h>

#include <array>
#include <charconv>
#include <filesystem>

#include "mplus/cli/commands/session_show.h"
#include "mplus/cli/documents.h"
#include "mplus/cli/output/answer_output.h"
#include "mplus/cli/output/json_output.h"
#include "mplus/cli/output/print.h"
#include "mplus/cli/output/progress_bar.h"
#include "mplus/cli/output/why_output.h"
#include "mplus/cli/user_file.h"
#include "mplus/core/error.h"
#include "mplus/core/text.h"
#include "mplus/engine/files/session_file.h"
#include "mplus/engine/locate.h"
#include "mplus/io/text/names.h"
#include "mplus/store/store_folder.h"

namespace mplus::cli {
namespace {

constexpr std::string_view kHelp =
    "/remember FILE   write a document, or a folder of them, into the memory\n"
    "/why [heat]      the passages the last answer was recalled from; how each layer scores them\n"
    "/sources         what was said and read so far\n"
    "/stats           sizes of memory and window\n"
    "/flush           write what waits in the window into the memory\n"
    "/undo [N]        take back the last N turns and documents (1)\n"
    "/forget SOURCE   remove what a source left; --exact makes the memory again without it, --dry-run only "
    "tells\n"
    "/fork NAME       keep the session as it is now under another name, and go on here\n"
    "/save FILE       save a copy to a memory file; --force behind it replaces one that is there\n"
    "/help            this\n"
    "/quit            end; so does Ctrl-D\n"
    "Ctrl-C stops an answer.\n";

// Where the store cannot be written (a read-only medium, somebody else's folder), a chat goes on from what is
// there, and ends with the process.
std::unique_ptr<OpenMemory> open_conversation(engine::Engine& engine, const MemoryOptions& memory,
                                              std::uint64_t seed) {
  if (memory.session.empty() || store::can_be_written(engine::home_folder()))
    return std::make_unique<OpenMemory>(engine, memory, seed, store::Access::write);
  auto opened = std::make_unique<OpenMemory>(engine, memory, seed, store::Access::read);
  opened->stop_storing();
  return opened;
}

}  // namespace

ChatSession::ChatSession(ChatOptions options) : options_(std::move(options)) {
  choose_memory(options_.memory, options_.model.delta == "none" ? Fallback::none : Fallback::session);
  engine_ = open_engine(options_.model, options_.memory, true);
  if (!engine_->has_memory() && options_.memory.session == kDefaultSession) options_.memory.session.clear();
  if (!engine_->chat_template())
    fail(ErrorCode::unsupported,
         "chat: this model's files name no chat template; `mplus ask` and `mplus generate` need none");
  memory_ = open_conversation(*engine_, options_.memory, options_.seed);
  if (!options_.system.empty()) memory_->set_system_message(options_.system);
  if (!engine_->has_memory()) {
    note("note: a plain model without a memory: it forgets when its context is full\n");
  } else if (!engine_->weights().memory->chat_trained) {
    note("note: this delta was not trained for conversation; `mplus ask` uses the form it knows\n");
  }
}

void ChatSession::print(std::string_view text) const {
  if (options_.json) {  // standard output is for the answers then
    write_to_errors(text);
  } else {
    put(text);
  }
}

bool ChatSession::handle(const std::string& line, Interrupt& interrupt) {
  const std::string text(trim(line));
  if (text.empty()) return true;
  if (text.front() != '/') {
    say(text, interrupt);
    return true;
  }
  const std::size_t space = std::min(text.find(' '), text.size());
  return command(std::string_view(text).substr(0, space),
                 std::string(trim(std::string_view(text).substr(space))), interrupt);
}

void ChatSession::say(const std::string& message, Interrupt& interrupt) {
  engine::GenerateOptions how = generate_options(options_.answer, options_.memory, options_.seed);
  how.cancel = &interrupt.flag();
  how.why = true;
  how.reread = options_.reread;
  memory_->serve_words(how);
  AnswerStream stream(!options_.json, true);
  how.on_text = [&](std::string_view piece) { return stream.write(piece); };
  last_ = memory_->say(message, how);
  const engine::Answer& answer = *last_;
  memory_->note_recall(answer);
  memory_->save();
  stream.end();
  if (answer.reason == engine::StopReason::cancelled && answer.tokens.empty())
    note("stopped before the answer began: this message is not kept\n");
  if (!options_.json) put(reread_text(answer.reread, memory_->session().record(), standard_output()));
  if (options_.json) {
    Json json;
    json["message"] = message;
    json.update(answer_json(answer, memory_->session().record(), true));
    put_json(json);
  }
}

bool ChatSession::command(std::string_view name, const std::string& argument, Interrupt& interrupt) {
  if (name == "/quit" || name == "/exit") return false;
  const bool needs_name = name == "/remember" || name == "/fork" || name == "/forget" || name == "/save";
  if (needs_name && argument.empty()) {
    note("{}: a name is missing; /help says which\n", name);
  } else if (name == "/help") {
    print(kHelp);
  } else if (name == "/remember") {
    remember(argument, interrupt);
  } else if (name == "/why") {
    show_why(argument);
  } else if (name == "/sources") {
    show_sources();
  } else if (name == "/stats") {
    show_stats();
  } else if (name == "/flush") {
    const std::int64_t writes = memory_->flush();
    memory_->save();
    print(fmt::format("{}\n", plural(writes, "write")));
  } else if (name == "/save") {
    save_copy(argument);
  } else if (name == "/fork") {
    fork(argument);
  } else if (name == "/forget") {
    forget(argument);
  } else if (name == "/undo") {
    undo(argument);
  } else {
    note("{} is not known; /help lists what is\n", one_line(name, 40));
  }
  return true;
}

void ChatSession::remember(const std::string& place, Interrupt& interrupt) {
  const Documents documents = read_documents({place}, "standard input");
  for (const RejectedDocument& rejected : documents.rejected) note("mplus: {}\n", printable(rejected.reason));
  std::string told;  // only when it is saved: whoever cannot read it loses nothing else
  for (const Document& document : documents.accepted) {
    if (interrupt.requested()) break;
    std::optional<ProgressBar> bar;
    const engine::RememberResult result = memory_->remember({.source = document.name, .text = document.text},
                                                            [&](std::int64_t done, std::int64_t total) {
                                                              if (!bar) bar.emplace("tok", total);
                                                              bar->show(done, document.name);
                                                              return !interrupt.requested();
                                                            });
    bar.reset();
    told += fmt::format("{}{}: {} in {}\n", result.complete ? "" : "stopped: ", printable(document.name),
                        plural(result.tokens, "token"), plural(result.updates, "write"));
  }
  if (!documents.accepted.empty()) memory_->save();
  print(told);
}

void ChatSession::show_why(const std::string& argument) const {
  if (!last_) return print("There is no answer yet.\n");
  print(why_text(*last_, memory_->session().record(), standard_output()));
  if (argument == "heat") print(heat_text(*last_));
}

void ChatSession::show_sources() const {
  const engine::Record& record = memory_->session().record();
  std::string text;
  for (std::int64_t s = 0; s < record.sources(); ++s) {
    const engine::Source& source = record.source(s);
    const std::int64_t number = memory_->stored() ? memory_->stored()->source_id(s) : s;
    if (memory_->stored() && number <= 0) continue;  // a template's own words, or forgotten
    text += fmt::format("{:>5}  {:9}  {:>9}  {}\n", fmt::format("#{}", number),
                        engine::speaker_name(source.speaker),
                        size_text(static_cast<double>(source.text.size())), one_line(source.name, 60));
  }
  print(text.empty() ? "Nothing yet.\n" : text);
}

void ChatSession::show_stats() const {
  const memory::Memory& memory = memory_->session().memory();
  const memory::Layout& layout = memory.layout();
  std::string text =
      fmt::format("turns             {}\nwindow            {} of {} tokens\n", memory_->session().turns(),
                  count_text(static_cast<std::int64_t>(memory_->session().window().size())),
                  count_text(engine_->window_tokens()));
  const std::int64_t any = layout.remembering.layer(0);  // they hold the same as a rule
  if (engine_->has_memory())
    text += fmt::format(
        "writes            {}\nshort-term rows   {} of {} a layer\nlong-term rows    {} a layer\nmemory      "
        "      {}\n",
        count_text(memory.updates()), count_text(memory.short_term(any).n), count_text(layout.N),
        count_text(layout.has_long_term() ? memory.long_term().size(any) : 0),
        size_text(static_cast<double>(memory.size_bytes())));
  print(text);
}

store::StoredSession& ChatSession::stored(std::string_view command) const {
  if (!memory_->stored())
    fail(ErrorCode::invalid_argument, "{}: only a session of the store can do that; this chat has {}",
         command, options_.memory.file.empty() ? "none" : "a memory file");
  return *memory_->stored();
}

void ChatSession::fork(const std::string& name) {
  stored("/fork");
  memory_->store().fork(options_.memory.session, name);
  print(fmt::format("session {} is as this one is now\n", printable(name)));
}

void ChatSession::undo(const std::string& argument) {
  std::int64_t n = 1;
  if (!argument.empty()) {
    const auto [end, error] = std::from_chars(argument.data(), argument.data() + argument.size(), n);
    if (error != std::errc{} || end != argument.data() + argument.size())
      fail(ErrorCode::invalid_argument, "/undo: expected a number, got {}", io::shown(argument));
  }
  stored("/undo").undo(n);
  last_.reset();
  print(fmt::format("{} taken back; {}", plural(n, "event"), undone_text_stays(options_.memory.session)));
}

void ChatSession::forget(const std::string& argument) {
  ForgetForm form;
  std::string source(trim(argument));
  const auto take = [&](std::string_view flag) {
    const bool first = source.starts_with(flag), last = source.ends_with(flag);
    if (first || last) source.erase(first ? 0 : source.size() - flag.size(), flag.size());
    source = std::string(trim(source));
    return first || last;
  };
  form.exact = take("--exact");
  form.planned = take("--dry-run");
  form.exact = take("--exact") || form.exact;  // behind the other
  store::StoredSession& session = stored("/forget");
  print(forget_text(
      form.planned ? session.forget_plan(source, form.exact) : session.forget(source, form.exact), form));
  if (!form.planned) last_.reset();
}

void ChatSession::save_copy(const std::string& file) {
  constexpr std::string_view kForce = " --force";
  const bool force = file.ends_with(kForce);
  const std::string name(trim(force ? file.substr(0, file.size() - kForce.size()) : file));
  const MemoryLock lock(name);
  UserFile copy(name, force);
  engine::save_session_file(memory_->session(), copy.path());
  copy.commit();
  print(fmt::format("saved to {}\n", printable(name)));
}

}  // namespace mplus::cli
