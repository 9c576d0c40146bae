// The journal: what happened to a session, in order, from which it can be made again. Texts stand in
// `sources` and are shared by the forks of a session; an event that is no longer in force (undone, forgotten)
// stays as a number without effect. Every function expects to be called inside the caller's transaction where
// it writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mplus/engine/event.h"
#include "mplus/store/database/database.h"

namespace mplus::store {

enum class EventKind { settings, text, turn, flush, forget, undo, rebuild, import };
std::string_view event_kind_name(EventKind kind);

struct StoredSource {
  std::int64_t id = 0;
  std::string name;
  engine::Speaker speaker = engine::Speaker::document;
  std::int64_t size = 0;
  std::string sha256;
  std::string text;
  std::vector<io::TokenId> ids;
  // Not empty: what is wrong with it. Its text is lost; name and size are empty where they are not known
  // either.
  std::string damage = {};
  bool given_up = false;  // written down as lost already, or perhaps readable another time
  bool lost() const { return !damage.empty(); }
};

struct StoredEvent {
  std::int64_t number = 0;
  EventKind kind = EventKind::settings;
  std::int64_t at = 0;  // milliseconds since 1970
  std::optional<std::int64_t> undone_by = {};
  std::optional<std::int64_t> source = {}, answer = {};
  std::int64_t token_begin = 0, token_end = 0;
  std::int64_t byte_begin = 0, byte_end = 0;
  bool complete = true;
  bool forgotten = false;
  std::vector<io::TokenId> answer_ids = {};
  std::vector<std::vector<std::int64_t>> recalled_births = {};
  std::string details = "{}";  // JSON
  std::string damage = {};     // not empty: what is wrong with it; nothing else of it counts but its number

  bool in_force() const { return damage.empty() && !undone_by && !forgotten; }
};

// What stands in a turn's details: how much of the answer was read back, the rule of recall, the chunks read
// again.
std::string details_of(const engine::TurnTaken& turn);
struct TurnDetails {
  std::int64_t answer_read = 0;
  std::string recall;
  std::vector<std::int64_t> reread;
};
// This and forget_details throw corrupt, beginning with `what`, where an event's details are not of its kind.
TurnDetails turn_details(const StoredEvent& event, std::string_view what);

// What stands in a forgetting's details.
struct ForgetDetails {
  bool exact = true;
  // All updates in the memory that forgettings wrote again; nothing: by an older version, which wrote none.
  std::optional<std::vector<std::int64_t>> rewritten;
};
ForgetDetails forget_details(const StoredEvent& event, std::string_view what);

// Milliseconds since 1970 by the clock, never before what the store has seen: clocks go backwards.
std::int64_t now_after(std::int64_t last);

class Journal {
 public:
  Journal(Database& database, std::int64_t session) : database_(&database), session_(session) {}

  // Adds an event behind the last one and returns its number.
  std::int64_t append(StoredEvent event);
  // An event under the number that it has, without its sources: they stay those of the session it is of.
  void put(StoredEvent event);
  // All that happened to another session happened to this one: a fork.
  void copy_events(std::int64_t from_session);
  // More of the document of the last event was taken in.
  void advance(std::int64_t number, std::int64_t token_end, std::int64_t byte_end, bool complete);
  void mark_undone(std::int64_t number, std::int64_t by);
  // An event in another form: places in its text, an answer's ids, what was recalled and read again.
  void renew(const StoredEvent& event);
  // The events of this session lose these sources; who else still refers to one keeps it, otherwise its row
  // is deleted. Returns the sources that are gone for good.
  std::vector<std::int64_t> forget(const std::vector<std::int64_t>& sources);
  // The same for the events that were undone: their texts go, where no event in force needs them.
  struct Purged {
    std::int64_t events = 0;
    std::vector<std::int64_t> sources = {};  // of these events, whether or not somebody else holds them
    std::vector<std::int64_t> gone = {};     // of the sources
  };
  Purged purge_undone();

  std::int64_t last_number() const;  // −1: none
  // In order and without gaps: damaged and missing ones are there as such.
  std::vector<StoredEvent> events(std::int64_t after = -1) const;
  std::optional<StoredEvent> last() const;
  std::int64_t checksum(std::int64_t number) const;  // of an event's row, as it stands there
  std::string fingerprint(std::int64_t last) const;  // of all rows up to that one, as they stand there

  std::int64_t add_source(const StoredSource& source,
                          std::string hash = {});  // hash: where it is known already
  StoredSource source(std::int64_t id) const;      // with its text, if that is not lost

  // A damaged event or source is written down as what it is: an event without effect, a source without text.
  // So the rest of the database can be written again.
  void give_up_event(std::int64_t number);
  void give_up_source(const StoredSource& source);

 private:
  StoredEvent read(Statement& row) const;
  void insert(const StoredEvent& event);
  void seal(std::int64_t number);  // the row's checksum, after a change that is meant
  void seal_source(std::int64_t id);
  void require_changed(std::int64_t number) const;
  void let_go(const StoredEvent& event);  // of its sources
  // Of these sources those that no event refers to any more: their rows are deleted.
  std::vector<std::int64_t> delete_loose(std::vector<std::int64_t> sources);

  Database* database_;
  std::int64_t session_;
};

}  // namespace mplus::store
