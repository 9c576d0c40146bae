// mplus session: the sessions of the store, looked at and changed from outside.
#include <fmt/core.h>

#include <algorithm>

#include "mplus/cli/commands/command.h"
#include "mplus/cli/commands/session_options.h"
#include "mplus/cli/commands/session_show.h"
#include "mplus/cli/output/print.h"
#include "mplus/cli/output/progress_bar.h"
#include "mplus/cli/user_file.h"
#include "mplus/engine/locate.h"
#include "mplus/store/copies/salvage.h"

namespace mplus::cli {
void say(const SessionOptions& options, const std::string& text, const Json& json) {
  if (options.json) {
    put_json(json);
  } else {
    put(text);
  }
}

void done(const SessionOptions& options, const std::string& text) {
  say(options, text + "\n", {{"session", options.name}, {"done", text}});
}

MemoryOptions memory_of(const std::string& session) {
  MemoryOptions memory;
  memory.session = session;
  return memory;
}

namespace {

// A session and the model it needs.
struct Opened {
  std::unique_ptr<engine::Engine> engine;
  std::unique_ptr<OpenMemory> memory;

  Opened(const SessionOptions& options, const std::string& name, store::Access access) {
    open_store(access).get(name);  // says so before a model is loaded; none is made
    engine = open_engine(options.model, memory_of(name), true);
    memory = std::make_unique<OpenMemory>(*engine, memory_of(name), 0, access);
  }
  store::StoredSession& session() { return *memory->stored(); }
};

int list(const SessionOptions& options) {
  const auto sessions = store::Store::exists(engine::home_folder()) ? open_store(store::Access::read).list()
                                                                    : std::vector<store::SessionInfo>{};
  say(options, list_text(sessions), list_json(sessions));
  return kGood;
}

int show(const SessionOptions& options) {
  store::Store store = open_store(store::Access::read);
  const store::SessionDetails details = store::session_details(store, options.name);
  say(options, details_text(details), details_json(details));
  return kGood;
}

int fork(const SessionOptions& options) {
  open_store().fork(options.name, options.other);
  done(options, fmt::format("session {} is as {} is now", printable(options.other), printable(options.name)));
  return kGood;
}

int rename(const SessionOptions& options) {
  open_store().rename(options.name, options.other);
  done(options, fmt::format("{} is now called {}", printable(options.name), printable(options.other)));
  return kGood;
}

int remove(const SessionOptions& options) {
  const store::Store::Leftover left = open_store().remove(options.name);
  say(options, fmt::format("session {} is gone\n{}", printable(options.name), leftover_text(left)),
      {{"session", options.name},
       {"done", fmt::format("session {} is gone", printable(options.name))},
       {"text_is_gone", left.reader.empty()},
       {"reader", left.reader.empty() ? Json() : Json(left.reader)}});
  return kGood;
}

int forget(const SessionOptions& options) {
  const ForgetForm form{.exact = options.exact, .planned = options.dry_run};
  std::vector<std::string> sessions{options.name};
  Json all = Json::array();
  std::string text;
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    Opened opened(options, sessions[i], options.dry_run ? store::Access::read : store::Access::write);
    const store::ForgetReport report = options.dry_run
                                           ? opened.session().forget_plan(options.other, options.exact)
                                           : opened.session().forget(options.other, options.exact);
    if (options.everywhere)
      for (const std::string& holder : report.holders)
        if (std::find(sessions.begin(), sessions.end(), holder) == sessions.end()) sessions.push_back(holder);
    text += (sessions.size() > 1 ? fmt::format("In session {}: ", printable(sessions[i])) : "") +
            forget_text(report, form);
    Json json = forget_json(report, form);
    json["session"] = sessions[i];
    all.push_back(std::move(json));
  }
  say(options, text, {{"forgotten", all}});
  return kGood;
}

int purge(const SessionOptions& options) {
  const store::Store::PurgeReport report = open_store().purge(options.name);
  say(options, purge_text(report), {{"session", options.name}, {"purged", purge_json(report)}});
  return kGood;
}

int undo(const SessionOptions& options) {
  std::string text;
  {
    Opened opened(options, options.name, store::Access::write);
    opened.session().undo(options.count);
    opened.session().close();
    text = fmt::format("{} taken back; {} now", plural(options.count, "event"),
                       plural(opened.session().session().memory().updates(), "write"));
  }
  Json json{{"session", options.name}, {"done", text}};
  text += '\n';
  if (options.purge) {
    const store::Store::PurgeReport report = open_store().purge(options.name);
    text += purge_text(report);
    json["purged"] = purge_json(report);
  } else {
    text += undone_text_stays(options.name);
  }
  say(options, text, json);
  return kGood;
}

int flush(const SessionOptions& options) {
  Opened opened(options, options.name, store::Access::write);
  const std::int64_t writes = opened.session().flush();
  opened.session().close();
  done(options,
       fmt::format("{}; {} still waiting", plural(writes, "write"),
                   plural(static_cast<std::int64_t>(opened.session().session().window().size()), "token")));
  return kGood;
}

int verify_opened(const SessionOptions& options) {
  store::Store store = open_store(store::Access::read);
  std::vector<std::string> names{options.name};
  if (options.all) {
    names.clear();
    for (const store::SessionInfo& info : store.list()) names.push_back(info.name);
  }
  bool sound = true;
  std::string text;
  Json json = Json::array();
  if (options.all)
    for (const store::Mark& lost : store.lost_sessions()) {
      store::VerifyReport report;
      report.problems.push_back(fmt::format(
          "{}: session {} is not there, though {} were acknowledged: is {}-wal lost, or the database "
          "an old copy?",
          store.database().file().string(), printable(lost.name), plural(lost.event + 1, "event"),
          store.database().file().filename().string()));
      report.verdict = fmt::format(
          "`mplus session export {} FILE --salvage` saves what is left of it; "
          "`mplus session set-aside` moves its files out of the way",
          printable(lost.name));
      sound = false;
      text += verify_text(lost.name, report);
      json.push_back(verify_json(lost.name, report));
    }
  for (const std::string& name : names) {
    store::VerifyReport report = store::verify_session(store, name);
    if (options.replay && report.sound()) {
      const auto engine = open_engine(options.model, memory_of(name), true);
      store::verify_by_replay(store, *engine, name, report);
    }
    sound = sound && report.sound();
    text += verify_text(name, report);
    json.push_back(verify_json(name, report));
  }
  say(options, text, options.all ? Json{{"sessions", json}} : json.at(0));
  if (!sound) note("mplus: session verify: damage was found\n");
  return sound ? kGood : kFailed;
}

// There, but its sessions cannot be listed.
bool is_beyond_reading(const std::filesystem::path& home) try {
  std::error_code ignored;
  const std::uintmax_t size = std::filesystem::file_size(home / "sessions.db", ignored);
  if (ignored || size == 0) return false;
  store::Store(home, {.access = store::Access::read}).list();
  return false;
} catch (const Error&) {
  return true;
}

int verify(const SessionOptions& options) try { return verify_opened(options); } catch (const Error& error) {
  const std::filesystem::path home = engine::home_folder();
  if (error.code() != ErrorCode::corrupt || !is_beyond_reading(home)) throw;
  std::string text = fmt::format("{}: damaged beyond reading\n", (home / "sessions.db").string());
  Json json = Json::array();
  for (const store::SessionLeft& left : store::sessions_left(home)) {
    text += left.texts == 0
                ? fmt::format("  session {}: none of its texts is left\n", printable(left.name))
                : fmt::format(
                      "  session {}: {} left; `mplus session export {} FILE --salvage` saves what is sound\n",
                      printable(left.name), plural(left.texts, "text"), printable(left.name));
    json.push_back({{"session", left.name}, {"texts", left.texts}});
  }
  if (json.empty()) text += "  nothing of it is left\n";
  say(options, text, {{"sound", false}, {"problems", {error.what()}}, {"left", json}});
  note("mplus: session verify: damage was found\n");
  return kFailed;
}

int set_aside(const SessionOptions& options) {
  const std::filesystem::path to = store::Store::set_aside(engine::home_folder());
  say(options,
      to.empty() ? std::string("Nothing to set aside: every file belongs to a session.\n")
                 : fmt::format("What belongs to no session any more is now in {}; nothing was deleted\n",
                               to.string()),
      {{"moved_to", to.empty() ? Json() : Json(to.string())}});
  return kGood;
}

using Work = int (*)(const SessionOptions&);

struct Subcommand {
  CLI::App* command;
  std::shared_ptr<SessionOptions> options;
};

struct Task {
  const char* name;
  const char* help;
  Work work;
  bool named, with_model;
};

Subcommand add_task(CLI::App& group, Action& chosen, const Task& task) {
  auto options = std::make_shared<SessionOptions>();
  CLI::App* command = group.add_subcommand(task.name, task.help);
  if (task.named) command->add_option("NAME", options->name, "the session")->type_name("")->required();
  add_json_option(*command, options->json);
  if (task.with_model) add_model_options(*command, options->model, "the default model's own");
  command->callback(
      [options, work = task.work, &chosen] { chosen = [options, work] { return work(*options); }; });
  return {command, options};
}

void add_second(const Subcommand& part, const char* name, const char* help) {
  part.command->add_option(name, part.options->other, help)->type_name("")->required();
}

void add_changes(CLI::App& group, Action& chosen) {
  add_second(
      add_task(group, chosen,
               {"fork", "the same session under a second name; both go on from here", fork, true, false}),
      "NEW", "the new name");
  const Subcommand forgetting = add_task(
      group, chosen,
      {"forget",
       "remove a source: its text, and what it left in memory.\n"
       "Text of others that was written together with it is written again, and keeps its place in time.\n"
       "It cannot be undone: `undo` passes over it",
       forget, true, true});
  add_second(forgetting, "SOURCE", "its name, or its number (#7) as `session show` lists it");
  forgetting.command->add_flag("--exact", forgetting.options->exact,
                               "make the memory again without it: as if it had never been read");
  forgetting.command->add_flag(
      "--dry-run", forgetting.options->dry_run,
      "say what goes, what is written again and who else holds the text; change nothing");
  forgetting.command->add_flag("--everywhere", forgetting.options->everywhere,
                               "also in the forks that still hold the text");
  const Subcommand undoing = add_task(
      group, chosen,
      {"undo", "take back the last turns and documents. Their texts stay on disk until they are purged", undo,
       true, true});
  undoing.command->add_flag("--purge", undoing.options->purge,
                            "also remove their texts from the disk, as `session purge` does");
  undoing.command->add_option("-n,--events", undoing.options->count, "how many")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000).description(""));
  add_task(
      group, chosen,
      {"purge", "remove from the disk the texts of what was undone: no byte of them is left in the store",
       purge, true, false});
  add_task(group, chosen, {"flush", "write what waits in the window into the memory", flush, true, true});
  add_second(add_task(group, chosen, {"rename", "another name", rename, true, false}), "NEW", "the new name");
}

void add_copies(CLI::App& group, Action& chosen) {
  const Subcommand exporting =
      add_task(group, chosen, {"export", "a session in one file", export_session_file, true, true});
  add_second(exporting, "FILE", "a memory file, to be made");
  exporting.command->add_flag("--no-journal", exporting.options->no_journal,
                              "memory and texts only: it cannot be undone or rebuilt elsewhere");
  exporting.command->add_flag("--salvage", exporting.options->salvage,
                              "from a damaged store: everything that is sound, source by source");
  add_force_option(*exporting.command, exporting.options->force);
  add_second(add_task(group, chosen, {"import", "a file becomes a session", import_session_file, true, true}),
             "FILE", "a memory file");
  add_second(add_task(group, chosen,
                      {"backup",
                       "all sessions in a folder of their own, also while others use them.\n"
                       "The copy is verified and is a store like any other: MPLUS_HOME=DIR opens it. Until "
                       "it is complete "
                       "its name is\n"
                       "DIR.incomplete-……; remove such a folder if a backup was killed",
                       backup_sessions, false, false}),
             "DIR", "a folder to be made, or an empty one");
}

}  // namespace

void add_session(CLI::App& program, Action& chosen) {
  CLI::App* group = program.add_subcommand("session",
                                           "Look at sessions, fork, move, undo and forget.\n"
                                           "A session is a memory and all that was said and read, kept in "
                                           "$MPLUS_HOME. Its journal of events is the\n"
                                           "truth: memory and answers follow from it, so it survives a "
                                           "crash, can be taken back step by step, and made\n"
                                           "again without one source or with other weights.");
  group->require_subcommand(1);
  group->footer(
      "Examples:\n"
      "  mplus session show default\n"
      "  mplus session forget default secret.txt --exact\n"
      "  mplus session undo default --purge\n"
      "  mplus session backup /media/disk/mplus-today\n"
      "  mplus session export default to-my-laptop.safetensors");
  add_task(*group, chosen, {"list", "all sessions", list, false, false});
  add_task(*group, chosen, {"show", "what a session holds, source by source", show, true, false});
  add_changes(*group, chosen);
  add_copies(*group, chosen);
  const Subcommand rebuilding = add_task(
      *group, chosen,
      {"rebuild",
       "write the texts again with another delta, model or tokenizer, or with other long-term rows.\n"
       "The session stays as it is until all of it is written. Stopped (Ctrl-C) or killed, the same "
       "command goes\n"
       "on where it was; `session list` names what it has written by then",
       rebuild_session_here, true, true});
  add_choice(*rebuilding.command, "--memory-dtype", rebuilding.options->dtype,
             "how long-term rows are kept from now on; default: as they are", {"bf16", "int8", "int4"});
  rebuilding.command->add_flag("--drop", rebuilding.options->drop,
                               "remove what a rebuild that was stopped has written, and rebuild nothing");
  const Subcommand verifying =
      add_task(*group, chosen, {"verify", "is everything as it was written?", verify, false, true});
  verifying.command->add_option("NAME", verifying.options->name, "the session; default: all")->type_name("");
  verifying.command->add_flag("--replay", verifying.options->replay,
                              "also make the memory again from the journal and compare bit for bit");
  verifying.command->callback([options = verifying.options, command = verifying.command, &chosen] {
    options->all = command->get_option("NAME")->count() == 0;
    chosen = [options] { return verify(*options); };
  });
  add_task(*group, chosen,
           {"set-aside",
            "move files that belong to no session, or whose database is gone, to a folder of their own",
            set_aside, false, false});
  add_task(*group, chosen,
           {"delete", "a session and all it remembers; no byte of its text is left in the store", remove,
            true, false});
}

}  // namespace mplus::cli
