#include "mplus/store/copies/transfer.h"

#include <algorithm>
#include <map>

#include "mplus/core/error.h"
#include "mplus/engine/files/session_file.h"
#include "mplus/io/text/json.h"
#include "mplus/io/text/names.h"
#include "mplus/store/copies/import_journal.h"

namespace mplus::store {
namespace {

std::string dumped(const io::Json& json) {
  return json.dump(-1, ' ', false, io::Json::error_handler_t::replace);  // names of files may be no UTF-8
}

// Sources and events in force, as JSON; texts stand one after the other beside it.
struct PackedJournal {
  io::Json json{{"version", kJournalVersion}, {"sources", io::Json::array()}, {"events", io::Json::array()}};
  std::string texts;
  std::map<std::int64_t, std::int64_t> places;  // source id → place in the list, from 1

  std::int64_t place(const Journal& journal, std::int64_t id) {
    if (id <= 0) return id;
    if (const auto at = places.find(id); at != places.end()) return at->second;
    const StoredSource source = journal.source(id);
    if (source.lost()) return places[id] = -1;
    io::Json entry{{"name", source.name},
                   {"speaker", static_cast<int>(source.speaker)},
                   {"begin", texts.size()},
                   {"end", texts.size() + source.text.size()}};
    if (!source.ids.empty()) entry["ids"] = source.ids;
    texts += source.text;
    json["sources"].push_back(std::move(entry));
    return places[id] = static_cast<std::int64_t>(json["sources"].size());
  }
  // What the memory has in place of a lost text: blanks, so that places in it stay what they are.
  std::int64_t add(const engine::Source& source) {
    json["sources"].push_back({{"name", source.name},
                               {"speaker", static_cast<int>(source.speaker)},
                               {"begin", texts.size()},
                               {"end", texts.size() + source.text.size()}});
    texts += source.text;
    return std::ssize(json["sources"]);
  }
  void add(const Journal& journal, const StoredEvent& event) {
    if (event.kind == EventKind::settings || !event.in_force()) return;
    const std::int64_t from = place(journal, event.source.value_or(0)),
                       answer = place(journal, event.answer.value_or(0));
    if (from < 0 || answer < 0) return;  // a text is lost
    json["events"].push_back({{"kind", static_cast<int>(event.kind)},
                              {"at", event.at},
                              {"source", from},
                              {"answer", answer},
                              {"tokens", {event.token_begin, event.token_end}},
                              {"bytes", {event.byte_begin, event.byte_end}},
                              {"complete", event.complete},
                              {"answer_ids", event.answer_ids},
                              {"recalled", event.recalled_births},
                              {"details", event.details}});
  }
};

// The database's ids of what `source_ids` names by place.
std::vector<std::int64_t> add_journal(ImportedJournal imported, Journal& journal) {
  std::vector<std::int64_t> ids;
  for (const StoredSource& source : imported.sources) ids.push_back(journal.add_source(source));
  const auto id_at = [&](std::int64_t place) { return ids[static_cast<std::size_t>(place - 1)]; };
  for (StoredEvent& event : imported.events) {
    if (event.source) event.source = id_at(*event.source);
    if (event.answer) event.answer = id_at(*event.answer);
    journal.append(std::move(event));
  }
  for (std::int64_t& id : imported.source_ids)
    if (id > 0) id = id_at(id);
  return std::move(imported.source_ids);
}

// What the record tells, as events that lead nowhere: sources have names, and can be forgotten.
std::vector<std::int64_t> events_of(const engine::Record& record, Journal& journal) {
  journal.append({.kind = EventKind::import});
  std::vector<std::int64_t> ids;
  for (std::int64_t s = 0; s < record.sources(); ++s) {
    const engine::Source& source = record.source(s);
    if (source.name.empty() && source.text.empty()) {
      ids.push_back(-1);
      continue;
    }
    ids.push_back(journal.add_source(
        {.name = source.name, .speaker = source.speaker, .sha256 = {}, .text = source.text, .ids = {}}));
    journal.append({.kind = EventKind::text,
                    .source = ids.back(),
                    .byte_end = static_cast<std::int64_t>(source.text.size())});
  }
  return ids;
}

// The events do not lead to such a memory.
bool forgot_in_place(const Journal& journal) {
  const std::vector<StoredEvent> events = journal.events();
  return std::any_of(events.begin(), events.end(), [](const StoredEvent& event) {
    return event.kind == EventKind::forget && !forget_details(event, "").exact;
  });
}

}  // namespace

SessionExport::SessionExport(const StoredSession& session, bool with_journal)
    : session_(session.session().fork()) {
  extras_.metadata["session"] = session.info().name;
  if (!with_journal) return;
  PackedJournal packed;
  for (const StoredEvent& event : session.journal().events()) packed.add(session.journal(), event);
  std::vector<std::int64_t> places;
  for (std::int64_t id : session.source_ids()) {
    const std::int64_t place = packed.place(session.journal(), id);
    const bool lost = id > 0 && place < 0;
    places.push_back(lost ? packed.add(session.session().record().source(std::ssize(places))) : place);
  }
  extras_.integers = {{"source_ids", std::move(places)}};
  extras_.bytes = {{"journal", dumped(packed.json)}, {"journal.texts", std::move(packed.texts)}};
}

void export_session(const StoredSession& session, const std::filesystem::path& file, bool with_journal) {
  SessionExport(session, with_journal).write(file);
}

// Events, then a state, then the session is shown.
void StoredSession::take_over(const std::function<std::vector<std::int64_t>()>& add_events, bool pinned) {
  {
    Transaction transaction(store_->database());
    source_ids_ = add_events();
    transaction.commit();
  }
  const auto last = journal_.last();
  position_ = last ? last->number : -1;
  position_token_ = last ? last->token_end : 0;
  NewState fresh = write_state_files();
  Transaction transaction(store_->database());
  insert_state(fresh, info_.id, pinned || forgot_in_place(journal_));
  store_->set_ready(info_.id);
  transaction.commit();
  store_->mark(info_.id);
  finish_state(fresh);
}

void import_session(Store& store, engine::Engine& engine, const std::filesystem::path& path,
                    const std::string& name) {
  check_name(name);
  const io::Safetensors file = io::Safetensors::open(path);
  engine::verify_session_file(file);
  auto loaded = std::make_unique<engine::Session>(engine::load_session_file(engine, path));
  const bool with_journal = file.find("journal") != nullptr;
  ImportedJournal imported = with_journal ? read_imported_journal(file, *loaded) : ImportedJournal{};
  // No events lead to what came without a journal, here or before it was exported.
  const bool pinned =
      !with_journal || std::any_of(imported.events.begin(), imported.events.end(),
                                   [](const StoredEvent& e) { return e.kind == EventKind::import; });
  const Settings settings = settings_of(engine, loaded->seed(), loaded->memory().layout().long_term);
  SessionInfo info;
  std::optional<FileLock> lock;
  info.id = store.create(name, settings, &lock);
  info.name = name;
  info.settings = settings;
  StoredSession session(store, engine, info, {}, StoredSession::NotLoaded{});
  session.lock_.emplace(std::move(*lock));
  try {
    session.session_ = std::move(loaded);
    session.take_over(
        [&] {
          return with_journal ? add_journal(std::move(imported), session.journal_)
                              : events_of(session.session_->record(), session.journal_);
        },
        pinned);
  } catch (...) {  // nothing of it stays: neither text nor states
    store.discard(info.id);
    throw;
  }
}

}  // namespace mplus::store
