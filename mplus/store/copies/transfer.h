// A session in one file, to be carried elsewhere: a memory file (docs/formats.md) that may hold the journal,
// too.
#pragma once

#include <filesystem>
#include <string>

#include "mplus/engine/files/session_file.h"
#include "mplus/store/session/stored_session.h"

namespace mplus::store {

// A session as it is when this is made, on its way into a file. The store is needed only then: write() may be
// called on another thread, while the session goes on.
class SessionExport {
 public:
  // `with_journal`: also the events, so that it can be undone, forgotten from and rebuilt elsewhere.
  SessionExport(const StoredSession& session, bool with_journal);
  void write(const std::filesystem::path& file) const { save_session_file(session_, file, extras_); }

 private:
  engine::Session session_;
  engine::FileExtras extras_;
};
void export_session(const StoredSession& session, const std::filesystem::path& file, bool with_journal);

// Any memory file becomes a session. Without a journal in it, what it brought can be forgotten from, but not
// undone or rebuilt. Throws model_mismatch where the engine has another model.
void import_session(Store& store, engine::Engine& engine, const std::filesystem::path& file,
                    const std::string& name);

}  // namespace mplus::store
