#include "mplus/store/transfer.h"

#include <map>

#include "mplus/core/error.h"
#include "mplus/engine/session_file.h"
#include "mplus/io/json.h"
#include "mplus/io/names.h"

namespace mplus::store {
namespace {

constexpr int kJournalVersion = 1;

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
    io::Json entry{{"name", source.name},
                   {"speaker", static_cast<int>(source.speaker)},
                   {"begin", texts.size()},
                   {"end", texts.size() + source.text.size()}};
    if (!source.ids.empty()) entry["ids"] = source.ids;
    texts += source.text;
    json["sources"].push_back(std::move(entry));
    return places[id] = static_cast<std::int64_t>(json["sources"].size());
  }
  void add(const Journal& journal, const StoredEvent& event) {
    if (event.kind == EventKind::settings || !event.in_force()) return;
    json["events"].push_back({{"kind", static_cast<int>(event.kind)},
                              {"at", event.at},
                              {"source", place(journal, event.source.value_or(0))},
                              {"answer", place(journal, event.answer.value_or(0))},
                              {"tokens", {event.token_begin, event.token_end}},
                              {"bytes", {event.byte_begin, event.byte_end}},
                              {"complete", event.complete},
                              {"answer_ids", event.answer_ids},
                              {"recalled", event.recalled_births},
                              {"details", event.details}});
  }
};

// A journal from a file nobody vouches for.
class JournalReader {
 public:
  JournalReader(const io::Safetensors& file, Journal& journal) : file_(file), journal_(journal) {}

  // The database's ids for what "source_ids" says.
  std::vector<std::int64_t> read() {
    const std::string texts = engine::read_bytes(file_, "journal.texts");
    try {
      const io::Json json = io::Json::parse(engine::read_bytes(file_, "journal"));
      if (json.at("version") != kJournalVersion)
        fail(ErrorCode::unsupported, "{}: a journal of version {}; this program reads version {}",
             file_.path().string(), dumped(json.at("version")), kJournalVersion);
      for (const io::Json& source : json.at("sources")) add_source(source, texts);
      for (const io::Json& event : json.at("events")) add_event(event);
    } catch (const io::Json::exception& error) {
      fail(ErrorCode::corrupt, "{}: tensor \"journal\": {}", file_.path().string(), error.what());
    }
    std::vector<std::int64_t> ids = engine::read_integers(file_, "source_ids");
    for (std::int64_t& id : ids)
      if (id > 0) id = source_at(id);
    return ids;
  }

 private:
  [[noreturn]] void senseless(const char* what) const {
    fail(ErrorCode::corrupt, "{}: tensor \"journal\": {}", file_.path().string(), what);
  }
  std::int64_t source_at(std::int64_t place) const {
    if (place < 1 || place > static_cast<std::int64_t>(ids_.size())) senseless("no such source");
    return ids_[static_cast<std::size_t>(place - 1)];
  }
  void add_source(const io::Json& json, const std::string& texts) {
    const auto begin = json.at("begin").get<std::size_t>(), end = json.at("end").get<std::size_t>();
    const auto speaker = json.at("speaker").get<int>();
    if (begin > end || end > texts.size() || speaker < 0 ||
        speaker > static_cast<int>(engine::Speaker::assistant))
      senseless("a source lies outside the texts");
    ids_.push_back(journal_.add_source({.name = json.at("name").get<std::string>(),
                                        .speaker = static_cast<engine::Speaker>(speaker),
                                        .sha256 = {},
                                        .text = texts.substr(begin, end - begin),
                                        .ids = json.value("ids", std::vector<io::TokenId>{})}));
  }
  void add_event(const io::Json& json) {
    StoredEvent event;
    const int kind = json.at("kind").get<int>();
    if (kind < static_cast<int>(EventKind::text) || kind > static_cast<int>(EventKind::import))
      senseless("no such kind of event");
    event.kind = static_cast<EventKind>(kind);
    if (const auto place = json.at("source").get<std::int64_t>(); place > 0) event.source = source_at(place);
    if (const auto place = json.at("answer").get<std::int64_t>(); place > 0) event.answer = source_at(place);
    if ((event.kind == EventKind::text || event.kind == EventKind::turn) && !event.source)
      senseless("an event without its source");
    if (event.kind == EventKind::turn && !event.answer) senseless("a turn without its answer");
    event.token_begin = json.at("tokens").at(0).get<std::int64_t>();
    event.token_end = json.at("tokens").at(1).get<std::int64_t>();
    event.byte_begin = json.at("bytes").at(0).get<std::int64_t>();
    event.byte_end = json.at("bytes").at(1).get<std::int64_t>();
    event.complete = json.at("complete").get<bool>();
    event.answer_ids = json.at("answer_ids").get<std::vector<io::TokenId>>();
    event.recalled_births = json.at("recalled").get<std::vector<std::vector<std::int64_t>>>();
    event.details = json.at("details").get<std::string>();
    if (!io::Json::accept(event.details)) senseless("details are no JSON");
    journal_.append(std::move(event));
  }

  const io::Safetensors& file_;
  Journal& journal_;
  std::vector<std::int64_t> ids_;
};

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

}  // namespace

void export_session(const StoredSession& session, const std::filesystem::path& file, bool with_journal) {
  engine::FileExtras extras;
  extras.metadata["session"] = session.info().name;
  if (with_journal) {
    PackedJournal packed;
    for (const StoredEvent& event : session.journal().events()) packed.add(session.journal(), event);
    std::vector<std::int64_t> places;
    for (std::int64_t id : session.source_ids()) places.push_back(packed.place(session.journal(), id));
    extras.integers = {{"source_ids", std::move(places)}};
    extras.bytes = {{"journal", dumped(packed.json)}, {"journal.texts", std::move(packed.texts)}};
  }
  session.session().save(file, extras);
}

void import_session(Store& store, engine::Engine& engine, const std::filesystem::path& path,
                    const std::string& name) {
  check_name(name);
  const io::Safetensors file = io::Safetensors::open(path);
  engine::verify_session_file(file);
  auto loaded = std::make_unique<engine::Session>(engine::Session::load(engine, path));
  const Settings settings = settings_of(engine, loaded->seed());
  SessionInfo info;
  info.id = store.create(name, settings, false);
  info.name = name;
  info.settings = settings;
  StoredSession session(store, engine, info, {}, StoredSession::NotLoaded{});
  session.lock_.emplace(store.lock_path(info.id), fmt::format("session {}", io::shown(name)));
  session.session_ = std::move(loaded);
  const bool with_journal = file.find("journal") != nullptr;
  {
    Transaction transaction(store.database());
    session.source_ids_ = with_journal ? JournalReader(file, session.journal_).read()
                                       : events_of(session.session_->record(), session.journal_);
    transaction.commit();
  }
  if (static_cast<std::int64_t>(session.source_ids_.size()) != session.session_->record().sources())
    fail(ErrorCode::corrupt, "{}: tensor \"source_ids\": {} expected, {} found", path.string(),
         session.session_->record().sources(), session.source_ids_.size());
  const auto last = session.journal_.last();
  session.position_ = last ? last->number : -1;
  session.position_token_ = last ? last->token_end : 0;
  auto fresh = session.write_state_files();
  Transaction transaction(store.database());
  session.insert_state(fresh, !with_journal);
  store.set_ready(info.id);
  transaction.commit();
  session.finish_state(fresh);
}

}  // namespace mplus::store
