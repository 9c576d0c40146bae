#include "mplus/store/database/details.h"

#include <algorithm>
#include <map>

#include "mplus/core/error.h"
#include "mplus/engine/files/session_file.h"

namespace mplus::store {
namespace {

// Updates of every source, from a state's spans.
void add_updates(const io::Safetensors& file, std::map<std::int64_t, SourceDetails*>& by_id) {
  const std::int64_t K = engine::session_file_info(file).K;
  const auto ids = engine::read_integers(file, "source_ids");
  const auto spans = engine::read_integers(file, "update.spans", 5);
  const auto ends = engine::read_integers(file, "update.ends");
  std::int64_t at = 0;
  for (std::size_t u = 0; u < ends.size(); ++u) {
    std::int64_t last = 0;
    for (; at < ends[u] && at < static_cast<std::int64_t>(spans.size() / 5); ++at) {
      const std::int64_t source = spans[static_cast<std::size_t>(at * 5)];
      if (source < 0 || source >= static_cast<std::int64_t>(ids.size())) continue;
      const auto found = by_id.find(ids[static_cast<std::size_t>(source)]);
      if (found == by_id.end() || found->first == last) continue;
      last = found->first;
      SourceDetails& details = *found->second;
      const auto update = static_cast<std::int64_t>(u);
      if (details.updates++ == 0) details.first_birth = update * K;
      details.last_birth = update * K + K - 1;
    }
  }
}

void add_state(Store& store, const StateRow& state, SessionDetails& details,
               std::map<std::int64_t, SourceDetails*>& by_id) {
  const std::filesystem::path path = store.state_path(state.file);
  check_state_row(state, path);
  const io::Safetensors file = io::Safetensors::open(path);
  const engine::SessionFileInfo info = engine::session_file_info(file);
  std::int64_t segments = 0, long_term_rows = 0;
  for (const SegmentRow& segment : store.segments(state.id)) {
    ++segments;
    const io::Safetensors rows = io::Safetensors::open(store.segment_path(segment.file.file));
    std::int64_t most = 0;
    for (const auto& [column, tensor] : rows.tensors())
      if (column.ends_with(".birth")) most = std::max(most, tensor.elements());
    long_term_rows += most;
  }
  add_updates(file, by_id);
  details.window_tokens = info.window_tokens;
  details.short_term_rows = info.short_term_rows;
  details.segments = segments;
  details.long_term_rows = long_term_rows;
}

}  // namespace

SessionDetails session_details(Store& store, const std::string& name) {
  SessionDetails details;
  details.info = store.get(name);
  details.info.rebuild = store.rebuild_left(details.info.id);
  const std::int64_t session = details.info.id;
  Database& database = store.database();
  Statement row = database.prepare(
      "SELECT s.id, s.name, s.speaker, s.size, sum(e.token_end - e.token_begin), min(e.complete OR EXISTS "
      "(SELECT 1 "
      "FROM events f WHERE f.session = e.session AND f.source = e.source AND f.complete AND f.undone_by IS "
      "NULL)), "
      "min(e.at), coalesce(r.answers, 0), coalesce(r.rows, 0), s.text IS NULL "
      "FROM events e JOIN sources s ON s.id = e.source OR s.id = e.answer "
      "LEFT JOIN recalls r ON r.session = e.session AND r.source = s.id "
      "WHERE e.session = ? AND e.undone_by IS NULL AND e.forgotten = 0 GROUP BY s.id ORDER BY min(e.number), "
      "s.id");
  row.bind(session);
  while (row.step()) {
    SourceDetails source;
    source.id = row.integer(0);
    source.name = row.text(1);
    source.speaker = static_cast<engine::Speaker>(row.integer(2));
    source.bytes = row.integer(3);
    source.tokens = row.integer(4);
    source.complete = row.integer(5) != 0;
    source.at = row.integer(6);
    source.answers = row.integer(7);
    source.rows = row.integer(8);
    source.lost = row.integer(9) != 0;
    details.sources.push_back(std::move(source));
  }
  Statement undone =
      database.prepare("SELECT count(*) FROM events WHERE session = ? AND undone_by IS NOT NULL");
  if (undone.bind(session).step()) details.undone = undone.integer(0);
  const std::vector<StateRow> states = store.states(session);
  details.states = static_cast<std::int64_t>(states.size());
  const std::int64_t last = Journal(database, session).last_number();
  details.events_behind_state = last + 1;
  std::map<std::int64_t, SourceDetails*> by_id;
  for (SourceDetails& source : details.sources) by_id[source.id] = &source;
  for (const StateRow& state : states) {  // the newest that can be read, as opening does
    try {
      add_state(store, state, details, by_id);
      details.events_behind_state = last - state.event;
      break;
    } catch (const Error& error) {
      details.damage.emplace_back(error.what());
    }
  }
  return details;
}

}  // namespace mplus::store
