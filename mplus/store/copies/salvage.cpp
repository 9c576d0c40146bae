#include "mplus/store/copies/salvage.h"

#include <algorithm>
#include <optional>

#include "mplus/core/error.h"
#include "mplus/core/files/private_file.h"
#include "mplus/io/text/names.h"
#include "mplus/io/weights/safetensors.h"
#include "mplus/store/copies/transfer.h"
#include "mplus/store/database/blob.h"
#include "mplus/store/database/mark.h"
#include "mplus/store/database/page_scan.h"
#include "mplus/store/database/row_sum.h"
#include "mplus/store/session/stored_session.h"

namespace mplus::store {
namespace {

namespace fs = std::filesystem;
using Values = std::vector<RawValue>;

constexpr std::size_t kSessionColumns = 15, kSourceColumns = 8, kEventColumns = 17;

std::int64_t integer(const RawValue& value) {
  const auto* number = std::get_if<std::int64_t>(&value);
  return number ? *number : 0;
}
std::optional<std::int64_t> optional_integer(const RawValue& value) {
  return std::holds_alternative<std::monostate>(value) ? std::nullopt : std::optional(integer(value));
}
std::string text(const RawValue& value) {
  const auto* found = std::get_if<std::string>(&value);
  return found ? *found : "";
}
std::span<const std::byte> blob(const RawValue& value) {
  const auto* found = std::get_if<std::vector<std::byte>>(&value);
  return found ? std::span<const std::byte>(*found) : std::span<const std::byte>();
}
bool is_null(const RawValue& value) { return std::holds_alternative<std::monostate>(value); }

void add(RowSum& sum, const RawValue& value) {
  std::visit(
      [&](const auto& held) {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, std::int64_t>) {
          sum.add(held);
        } else if constexpr (std::is_same_v<T, std::string>) {
          sum.add(std::string_view(held));
        } else if constexpr (std::is_same_v<T, std::vector<std::byte>>) {
          sum.add(std::span<const std::byte>(held));
        } else {
          sum.add_null();
        }
      },
      value);
}

// Columns [first, end) of a row, behind its id where that is part of it.
bool fits(const char* table, std::optional<std::int64_t> id, const Values& values, std::size_t first,
          std::size_t end, std::int64_t checksum) {
  RowSum sum(table);
  if (id) sum.add(*id);
  for (std::size_t i = first; i < end; ++i) add(sum, values[i]);
  return sum.value() == checksum;
}

std::optional<SessionInfo> session_of(const RawRow& row) {
  const Values& v = row.values;
  if (v.size() != kSessionColumns || !fits("sessions", row.id, v, 1, 14, integer(v[14]))) return std::nullopt;
  if (integer(v[2]) > 1) return std::nullopt;  // what a rebuild has written
  SessionInfo info;
  info.id = row.id;
  info.name = text(v[1]);
  info.created_at = integer(v[3]);
  info.settings = {.shape_id = text(v[4]),
                   .weights_id = text(v[5]),
                   .numerics_id = text(v[6]),
                   .type = memory_type_from_name(text(v[7])).value_or(MemoryType{}),
                   .capacity = is_null(v[8]) ? memory::kUnlimited : integer(v[8]),
                   .keep_hidden = integer(v[9]) != 0,
                   .seed = static_cast<std::uint64_t>(integer(v[10])),
                   .model = text(v[11]),
                   .delta = text(v[12])};
  return info;
}

std::optional<StoredSource> source_of(const RawRow& row) {
  const Values& v = row.values;
  if (v.size() != kSourceColumns || !fits("sources", row.id, v, 1, 5, integer(v[7]))) return std::nullopt;
  StoredSource source{.id = row.id,
                      .name = text(v[1]),
                      .speaker = static_cast<engine::Speaker>(integer(v[2])),
                      .size = integer(v[3]),
                      .sha256 = text(v[4]),
                      .text = {},
                      .ids = {}};
  try {
    source.text = unpack_text(blob(v[5]), "a text");
    if (!is_null(v[6])) source.ids = unpack_ids(blob(v[6]), "a list of tokens");
  } catch (const Error&) {
    return std::nullopt;
  }
  const std::string found = source.ids.empty() ? sha256_of(source.text) : sha256_of(source.ids);
  return found == source.sha256 ? std::optional(std::move(source)) : std::nullopt;
}

// Session and event.
std::optional<std::pair<std::int64_t, StoredEvent>> event_of(const RawRow& row) {
  const Values& v = row.values;
  if (v.size() != kEventColumns || !fits("events", {}, v, 1, 16, integer(v[16]))) return std::nullopt;
  StoredEvent event{.number = integer(v[1]),
                    .kind = static_cast<EventKind>(integer(v[2])),
                    .at = integer(v[3]),
                    .undone_by = optional_integer(v[4]),
                    .source = optional_integer(v[5]),
                    .answer = optional_integer(v[6]),
                    .token_begin = integer(v[7]),
                    .token_end = integer(v[8]),
                    .byte_begin = integer(v[9]),
                    .byte_end = integer(v[10]),
                    .complete = integer(v[11]) != 0,
                    .forgotten = integer(v[12]) != 0,
                    .details = text(v[15])};
  try {
    if (!is_null(v[13])) event.answer_ids = unpack_ids(blob(v[13]), "an event");
    if (!is_null(v[14])) event.recalled_births = unpack_births(blob(v[14]), "an event");
  } catch (const Error&) {
    return std::nullopt;
  }
  return std::pair(integer(v[0]), std::move(event));
}

// A store that is there for the time of the salvage.
class ScratchFolder {
 public:
  explicit ScratchFolder(fs::path path) : path_(std::move(path)) {
    std::error_code ignored;
    if (fs::exists(path_, ignored))
      fail(ErrorCode::io, "{}: is there already, and needed to work in", path_.string());
    make_private_folders(path_);
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Sessions' ids and names by their rows, by marks, and by the names in states' files, in this order.
std::vector<std::pair<std::int64_t, std::string>> names_left(const fs::path& folder,
                                                             const SalvagedRows& rows) {
  std::vector<std::pair<std::int64_t, std::string>> names;
  for (const auto& [id, info] : rows.sessions) names.emplace_back(id, info.name);
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder / "marks", ignored))
    if (const MarkFound found = read_mark(entry.path()); found.mark)
      names.emplace_back(found.mark->session, found.mark->name);
  for (const auto& entry : fs::directory_iterator(folder / "states", ignored)) try {
      const io::Safetensors file = io::Safetensors::open(entry.path());
      const auto at = file.metadata().find("session");
      if (at != file.metadata().end())
        names.emplace_back(std::stoll(entry.path().filename().string()), at->second);
    } catch (const std::exception&) {  // damaged, too
    }
  return names;
}

class Salvage {
 public:
  Salvage(SalvagedRows rows, std::int64_t session) : rows_(std::move(rows)), session_(session) {}

  // Rows of the session go into a journal that is empty but for its settings.
  SalvageReport into(Journal& journal) {
    std::int64_t expected = 0;
    for (auto& [key, event] : rows_.events) {
      if (key.first != session_) continue;
      for (; expected < key.second; ++expected) lose(fmt::format("event {}", expected));
      expected = key.second + 1;
      add(journal, event);
    }
    // Texts that no event leads to any more: nobody else's, so they may be this session's.
    for (const auto& [key, event] : rows_.events)
      for (const auto& id : {event.source, event.answer})
        if (id) places_.try_emplace(*id, 0);
    for (const auto& [id, source] : rows_.sources) {
      if (places_.count(id) > 0) continue;
      journal.append({.kind = EventKind::text,
                      .source = put(journal, id),
                      .token_end = std::ssize(source.ids),
                      .byte_end = std::ssize(source.text)});
      complete_ = false;
    }
    return std::move(report_);
  }
  bool complete() const { return complete_; }

 private:
  void lose(const std::string& what) {
    report_.lost.push_back(what);
    ++report_.lost_events;
    complete_ = false;
  }
  std::int64_t put(Journal& journal, std::int64_t id) {
    std::int64_t& place = places_[id];
    if (place == 0) {
      place = journal.add_source(rows_.sources.at(id));
      ++report_.sources;
    }
    return place;
  }
  void add(Journal& journal, StoredEvent& event) {
    if (!event.in_force()) return;
    if (event.kind != EventKind::text && event.kind != EventKind::turn && event.kind != EventKind::flush)
      return;
    for (auto* id : {&event.source, &event.answer})
      if (*id && rows_.sources.count(**id) == 0)
        return lose(fmt::format("event {}: the text of source #{}", event.number, **id));
    for (auto* id : {&event.source, &event.answer})
      if (*id) *id = put(journal, **id);
    journal.append(event);
  }

  SalvagedRows rows_;
  std::int64_t session_;
  SalvageReport report_;
  std::map<std::int64_t, std::int64_t> places_;  // id there → id here; 0: another session's
  bool complete_ = true;
};

}  // namespace

SalvagedRows salvage_rows(const fs::path& database) {
  SalvagedRows rows;
  scan_rows(database, [&](const RawRow& row) {
    if (auto info = session_of(row)) rows.sessions[info->id] = std::move(*info);
    if (auto event = event_of(row))
      rows.events[{event->first, event->second.number}] = std::move(event->second);
    if (auto source = source_of(row)) {
      rows.pages[source->id] = row.pages;
      rows.sources[source->id] = std::move(*source);
    }
  });
  return rows;
}

std::vector<SessionLeft> sessions_left(const fs::path& folder) {
  const SalvagedRows rows = salvage_rows(folder / "sessions.db");
  std::map<std::int64_t, std::set<std::int64_t>> texts;
  for (const auto& [key, event] : rows.events)
    for (const auto& source : {event.source, event.answer})
      if (source && rows.sources.count(*source) > 0) texts[key.first].insert(*source);
  std::vector<SessionLeft> left;
  std::set<std::int64_t> listed;
  for (const auto& [id, name] : names_left(folder, rows))
    if (listed.insert(id).second) left.push_back({name, std::ssize(texts[id])});
  return left;
}

SalvageReport salvage_session(const fs::path& folder, engine::Engine& engine, const std::string& name,
                              const fs::path& file) {
  SalvagedRows rows = salvage_rows(folder / "sessions.db");
  const auto names = names_left(folder, rows);
  const auto at =
      std::find_if(names.begin(), names.end(), [&](const auto& left) { return left.second == name; });
  if (at == names.end())
    fail(ErrorCode::not_found,
         "session {}: nothing of that name is left in {}; `mplus session verify` lists what is",
         io::shown(name), folder.string());
  const std::int64_t id = at->first;
  const auto known = rows.sessions.find(id);
  const Settings settings = known == rows.sessions.end() ? settings_of(engine, 0, engine.layout().long_term)
                                                         : settings_of(engine, known->second.settings.seed,
                                                                       known->second.settings.type.long_term);
  const ScratchFolder scratch(file.string() + ".salvage");
  Store store(scratch.path());
  store.create(name, settings);
  Salvage salvage(std::move(rows), id);
  SalvageReport report;
  {
    Journal journal(store.database(), store.get(name).id);
    Transaction transaction(store.database());
    report = salvage.into(journal);
    transaction.commit();
    store.mark(store.get(name).id);
  }
  // With an event missing, what a turn had recalled lies elsewhere: it recalls anew.
  if (!salvage.complete()) rebuild_session(store, engine, name);
  const StoredSession session(store, engine, name, Access::read);
  export_session(session, file, true);
  return report;
}

}  // namespace mplus::store
