// What the parts of `mplus session` share.
#pragma once

#include <string>

#include "mplus/cli/open_memory.h"
#include "mplus/cli/options.h"
#include "mplus/cli/output/json_output.h"

namespace mplus::cli {

struct SessionOptions {
  ModelOptions model;
  std::string name = kDefaultSession;
  std::string other;  // a second name, a source, a file or a folder
  std::string dtype;  // of the memory, from now on; empty: as it is
  std::int64_t count = 1;
  bool exact = false, everywhere = false, dry_run = false, purge = false;
  bool replay = false, drop = false, no_journal = false, salvage = false, all = false, force = false;
  bool json = false;
};

// What was done: as text, or as JSON where that was asked for.
void say(const SessionOptions& options, const std::string& text, const Json& json);
void done(const SessionOptions& options, const std::string& text);
MemoryOptions memory_of(const std::string& session);
// session_files.cpp: what goes to files and folders, or comes from them. Each returns the exit code.
int export_session_file(const SessionOptions& options);
int import_session_file(const SessionOptions& options);
int backup_sessions(const SessionOptions& options);
int rebuild_session_here(const SessionOptions& options);  // session_rebuild.cpp

}  // namespace mplus::cli
