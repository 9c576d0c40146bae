// A session store: one folder with a database of sessions, sources and events (schema.h), and the files of
// states and segments beside it. One thread at a time; many processes may use the same folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mplus/engine/engine.h"
#include "mplus/store/journal.h"
#include "mplus/store/segment_file.h"

namespace mplus::store {

// In place of a numerics id: written under more than one, so values cannot be replayed bit for bit.
inline constexpr const char* kMixedNumerics = "mixed";

// What a memory is made for and how it is kept: fixed for a session's life, but for a rebuild.
struct Settings {
  std::string shape_id, weights_id, numerics_id;
  DType dtype = DType::bf16;
  std::int64_t capacity = memory::kUnlimited;  // M
  bool keep_hidden = false;
  std::uint64_t seed = 0;
  std::string model, delta;  // file names, for people
};
Settings settings_of(engine::Engine& engine, std::uint64_t seed);

struct SessionInfo {
  std::int64_t id = 0;
  std::string name;
  Settings settings;
  std::int64_t created_at = 0, changed_at = 0;  // milliseconds since 1970
  std::string forked_from;
  std::int64_t events = 0;            // in force
  std::int64_t turns = 0;             // of them
  std::int64_t documents = 0;         // of them
  std::int64_t text_bytes = 0;        // of their sources
  std::int64_t updates = 0;           // in the newest state
  std::int64_t disk_bytes = 0;        // of its states and segments; forks may share them
  std::optional<std::string> writer;  // who is writing it now
};

struct StateRow {
  std::int64_t id = 0;
  std::string file;
  std::int64_t size = 0;
  std::int64_t event = 0, token = 0, updates = 0;
  bool pinned = false;
};

struct SegmentRow {
  std::int64_t id = 0;
  SegmentFile file;
};

// The segments of a state as its file names them: JSON.
std::string segment_list(const std::vector<SegmentRow>& segments);

class Store {
 public:
  // Makes folder and database where they are missing.
  explicit Store(const std::filesystem::path& folder);
  static bool exists(const std::filesystem::path& folder);

  Database& database() { return database_; }
  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path state_path(const std::string& file) const { return folder_ / "states" / file; }
  std::filesystem::path segment_path(const std::string& file) const { return folder_ / "segments" / file; }
  std::filesystem::path lock_path(std::int64_t session) const;

  std::vector<SessionInfo> list();
  std::optional<SessionInfo> find(std::string_view name);
  SessionInfo get(std::string_view name);  // throws not_found naming what there is

  // A new session; throws invalid_argument where the name is taken or impossible. Not ready: not shown, and
  // removed when its maker dies.
  std::int64_t create(const std::string& name, const Settings& settings, bool ready);
  void set_ready(std::int64_t session);
  // As it is now, under another name; shares texts, states and segments.
  void fork(const std::string& from, const std::string& to);
  void rename(const std::string& from, const std::string& to);
  void remove(const std::string& name);  // throws io while another process writes it
  // Other sessions that hold one of these sources.
  std::vector<std::string> holders(const std::vector<std::int64_t>& sources, std::int64_t except);

  std::vector<StateRow> states(std::int64_t session);  // newest first
  std::vector<SegmentRow> segments(std::int64_t state);
  // Files that no row names: left by a process that died, or just let go. The caller is the writer of
  // `session`.
  void remove_loose_files(std::int64_t session);
  // Rows of segments that no state uses. Inside the caller's transaction; their files go with
  // remove_loose_files.
  void release_segments();
  // Text that was deleted leaves the write-ahead log, too. False: a reader in another process still holds it.
  bool wipe_log();

 private:
  SessionInfo read_info(const Statement& row);
  void require_free(const std::string& name);  // throws invalid_argument
  void remove_rows(std::int64_t session);
  void remove_unfinished();

  std::filesystem::path folder_;
  Database database_;
};

void check_name(const std::string& name);  // throws invalid_argument: what a session may be called

}  // namespace mplus::store
