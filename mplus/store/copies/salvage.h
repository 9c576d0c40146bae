// What is left of a session whose database is damaged beyond opening: every row that still fits its checksum,
// from wherever it lies, in the database or in its log.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "mplus/store/store.h"

namespace mplus::store {

// All sound rows of a store.
struct SalvagedRows {
  std::map<std::int64_t, SessionInfo> sessions;                         // by id
  std::map<std::pair<std::int64_t, std::int64_t>, StoredEvent> events;  // by session and number
  std::map<std::int64_t, StoredSource> sources;                         // by id, with their texts
  std::map<std::int64_t, std::set<std::int64_t>> pages;                 // that a source lies on
};
SalvagedRows salvage_rows(const std::filesystem::path& database);

struct SessionLeft {
  std::string name;
  std::int64_t texts;  // that are sound
};
// The sessions that rows, marks and states still name, for a database that cannot be opened.
std::vector<SessionLeft> sessions_left(const std::filesystem::path& folder);

struct SalvageReport {
  std::int64_t sources = 0, lost_events = 0;
  std::vector<std::string> lost;  // what could not be saved, for people
};

// Everything of the session `name` that is sound becomes a memory file with a journal. It is written with the
// engine's model, text by text, in a store of its own beside `file` that is removed afterwards. The damaged
// store is only read. Throws not_found if there is nothing of that name.
SalvageReport salvage_session(const std::filesystem::path& folder, engine::Engine& engine,
                              const std::string& name, const std::filesystem::path& file);

}  // namespace mplus::store
