// The journal inside a session's export (docs/formats.md, "Memory file"), read from a file nobody vouches
// for. What comes out is as good as a journal written here: every event can be replayed.
#pragma once

#include <vector>

#include "mplus/engine/session.h"
#include "mplus/store/database/journal.h"

namespace mplus::store {

inline constexpr int kJournalVersion = 1;

struct ImportedJournal {
  std::vector<StoredSource> sources;  // without ids; events name them by their place, from 1
  std::vector<StoredEvent> events;    // in order
  std::vector<std::int64_t>
      source_ids;  // of the session's sources: a place; 0 a template's words, −1 forgotten
};

// `session`: what the file's memory was loaded as. Throws corrupt or unsupported naming the file, the event
// and what is wrong with it.
ImportedJournal read_imported_journal(const io::Safetensors& file, const engine::Session& session);

}  // namespace mplus::store
