// mplus session export, import, backup: sessions in files and folders of their own.
#include <fmt/core.h>

#include "mplus/cli/commands/command.h"
#include "mplus/cli/commands/session_options.h"
#include "mplus/cli/output/print.h"
#include "mplus/cli/output/progress_bar.h"
#include "mplus/cli/user_file.h"
#include "mplus/engine/locate.h"
#include "mplus/store/copies/backup.h"
#include "mplus/store/copies/salvage.h"
#include "mplus/store/copies/transfer.h"

namespace mplus::cli {
namespace {

// The model in the form of the session's memory, or in its usual one where the session cannot even be found.
std::unique_ptr<engine::Engine> engine_for_salvage(const SessionOptions& options) {
  try {
    return open_engine(options.model, memory_of(options.name), true);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::corrupt) throw;  // salvage() comes upon it again and says so
    return open_engine(options.model, {}, true);
  }
}

int salvage(const SessionOptions& options, NewFile& file) {
  const auto engine = engine_for_salvage(options);
  try {
    store::Store store = open_store(store::Access::read);
    const store::StoredSession session(store, *engine, options.name, store::Access::read,
                                       {.warn = [](const std::string& message) { warn(message); }});
    if (session.whole()) {
      store::export_session(session, file.path(), true);
      file.commit();
      done(options, fmt::format("{} holds everything but what is named above", printable(options.other)));
      return kGood;
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::corrupt && error.code() != ErrorCode::io) throw;
    warn(error.what());
  }
  const store::SalvageReport report =
      store::salvage_session(engine::home_folder(), *engine, options.name, file.path());
  file.commit();
  for (const std::string& lost : report.lost) warn("lost: " + lost);
  done(options, fmt::format("{} holds {}, written again from their texts", printable(options.other),
                            plural(report.sources, "source")));
  return kGood;
}

}  // namespace

int export_session_file(const SessionOptions& options) {
  if (!options.salvage) open_store(store::Access::read).get(options.name);
  UserFile file(options.other, options.force);  // says so before a model is loaded
  if (options.salvage) return salvage(options, file);
  const auto engine = open_engine(options.model, memory_of(options.name), true);
  store::Store store = open_store(store::Access::read);
  store::StoredOptions how;
  how.warn = warn;
  const store::StoredSession session(store, *engine, options.name, store::Access::read, how);
  store::export_session(session, file.path(), !options.no_journal);
  file.commit();
  done(options, fmt::format("{} is {}", printable(options.other),
                            size_text(static_cast<double>(std::filesystem::file_size(options.other)))));
  return kGood;
}

int import_session_file(const SessionOptions& options) {
  MemoryOptions form;
  form.file = options.other;
  const auto engine = open_engine(options.model, form, true);
  store::Store store = open_store();
  store::import_session(store, *engine, options.other, options.name);
  done(options,
       fmt::format("session {} holds what {} brought", printable(options.name), printable(options.other)));
  return kGood;
}

int backup_sessions(const SessionOptions& options) {
  const std::filesystem::path home = engine::home_folder();
  if (!store::Store::exists(home)) fail(ErrorCode::not_found, "{}: there is no session store", home.string());
  store::Store store = open_store(store::Access::read);
  const store::BackupReport report = store::backup_store(store, options.other);
  say(options,
      fmt::format("{} holds {}, {}, verified. It is a store like any other: MPLUS_HOME={} opens it\n",
                  printable(options.other), plural(report.sessions, "session"),
                  size_text(static_cast<double>(report.bytes)), printable(options.other)),
      {{"backup", options.other},
       {"sessions", report.sessions},
       {"files", report.files},
       {"bytes", report.bytes}});
  return kGood;
}

}  // namespace mplus::cli
