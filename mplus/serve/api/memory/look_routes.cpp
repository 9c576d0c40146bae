// Looking into a memory: its documents, turns and events, and where what was read is now.
#include <charconv>

#include "mplus/serve/api/memory/memory_json.h"
#include "mplus/serve/api/memory/memory_use.h"

namespace mplus::serve {
namespace {

std::int64_t id_of(const std::string& text) {
  std::int64_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size())
    throw ApiError{404, "not_found", "a document is called by its number"};
  return id;
}

// In how many updates each source was written; what the store tells of is as old as its newest state.
std::map<std::int64_t, std::int64_t> updates_of_sources(const OpenMemory& memory) {
  std::map<std::int64_t, std::int64_t> updates;
  const engine::Record& record = memory.session.session().record();
  for (std::int64_t update = 0; update < record.updates(); ++update) {
    std::int64_t last = -1;
    for (const engine::Span& span : record.spans(update))
      if (std::exchange(last, span.source) != span.source) ++updates[memory.session.source_id(span.source)];
  }
  return updates;
}

Reply documents(Services& services, const OpenMemory& memory, const Call& call) {
  Json data = Json::array();
  const auto updates = updates_of_sources(memory);
  for (store::SourceDetails source : store::session_details(services.store, call.memory()).sources) {
    const auto at = updates.find(source.id);
    source.updates = at == updates.end() ? 0 : at->second;
    data.push_back(source_json(source));
  }
  return json_reply({{"object", "list"}, {"data", std::move(data)}});
}

Reply document(Services& services, const OpenMemory& memory, const Call& call) {
  const std::int64_t id = id_of(call.names[1]);
  Json json = document_json(services.store, call.memory(), id);
  if (json.is_null()) throw ApiError{404, "not_found", "this memory has no such document"};
  const store::StoredSource source = memory.session.journal().source(id);
  json["text"] = source.text;
  return json_reply(json);
}

Reply turns(const OpenMemory& memory) {
  const store::Journal& journal = memory.session.journal();
  Json data = Json::array();
  for (const store::StoredEvent& event : journal.events()) {
    if (event.kind != store::EventKind::turn || !event.in_force() || !event.source || !event.answer) continue;
    data.push_back({{"event", event.number},
                    {"at", event.at / 1000},
                    {"message", journal.source(*event.source).text},
                    {"answer", journal.source(*event.answer).text},
                    {"message_source", *event.source},
                    {"answer_source", *event.answer}});
  }
  return json_reply({{"object", "list"}, {"data", std::move(data)}});
}

Reply events(const OpenMemory& memory) {
  const store::Journal& journal = memory.session.journal();
  Json data = Json::array();
  for (const store::StoredEvent& event : journal.events())
    data.push_back({{"event", event.number},
                    {"kind", store::event_kind_name(event.kind)},
                    {"at", event.at / 1000},
                    {"in_force", event.in_force()},
                    {"undone_by", event.undone_by ? Json(*event.undone_by) : Json()},
                    {"source", event.source ? Json(*event.source) : Json()},
                    {"name", event.source ? Json(journal.source(*event.source).name) : Json()}});
  return json_reply({{"object", "list"}, {"data", std::move(data)}});
}

// Rows of every chunk, layer by layer, in short-term memory and in the long-term store.
struct RowCounts {
  std::int64_t short_term = 0, long_term = 0;
};
std::vector<std::vector<RowCounts>> rows_of_chunks(const memory::Memory& memory) {
  const memory::Layout& layout = memory.layout();
  std::vector<std::vector<RowCounts>> counts(static_cast<std::size_t>(memory.updates()),
                                             std::vector<RowCounts>(static_cast<std::size_t>(layout.layers)));
  const auto count = [&](std::int64_t layer, std::int64_t birth, std::int64_t RowCounts::*where) {
    const std::int64_t chunk = birth < 0 ? -1 : birth / layout.K;
    if (chunk >= 0 && chunk < memory.updates())
      ++(counts[static_cast<std::size_t>(chunk)][static_cast<std::size_t>(layer)].*where);
  };
  for (std::int64_t layer = 0; layer < layout.layers; ++layer) {
    const memory::RowsView rows = memory.short_term(layer);
    for (std::int64_t row = 0; row < rows.n; ++row) count(layer, rows.birth[row], &RowCounts::short_term);
    memory.long_term().for_each(
        layer, [&](memory::RowId, std::int64_t birth) { count(layer, birth, &RowCounts::long_term); });
  }
  return counts;
}

// How many rows each chunk left in a layer: K, but for a short text with little before it, or written again
// alone.
std::vector<std::int64_t> rows_made(const store::StoredSession& stored) {
  const engine::Session& session = stored.session();
  const std::int64_t most = session.memory().layout().K;
  const std::vector<std::int64_t> again = stored.rewritten_updates();
  std::vector<std::int64_t> made;
  std::int64_t tail = 0;
  for (std::int64_t update = 0; update < session.record().updates(); ++update) {
    std::int64_t tokens = 0;
    for (const engine::Span& span : session.record().spans(update))
      tokens += span.token_end - span.token_begin;
    if (std::find(again.begin(), again.end(), update) != again.end()) tail = 0;
    tail = tokens == 0 ? most : std::min(most, tail + tokens);  // no text: it was forgotten
    made.push_back(tail);
  }
  return made;
}

Reply timeline(const OpenMemory& memory, const Call& call) {
  const engine::Session& session = memory.session.session();
  const memory::Layout& layout = session.memory().layout();
  const bool by_layer = call.asked_for("layers", false);
  const std::vector<std::int64_t> made = rows_made(memory.session);
  Json chunks = Json::array();
  const auto counts = rows_of_chunks(session.memory());
  for (std::size_t chunk = 0; chunk < counts.size(); ++chunk) {
    double in_slots = 0, in_store = 0;
    std::int64_t most = chunk < made.size() ? made[chunk] : layout.K;
    Json lists = Json::array();
    for (const RowCounts& rows : counts[chunk]) {
      in_slots += static_cast<double>(rows.short_term);
      in_store += static_cast<double>(rows.long_term);
      most = std::max(most, rows.short_term + rows.long_term);
      if (by_layer) lists.push_back({rows.short_term, rows.long_term});
    }
    const double all = static_cast<double>(std::max<std::int64_t>(1, layout.remembering_layers() * most));
    Json json{{"chunk", chunk},
              {"short_term", in_slots / all},
              {"long_term", in_store / all},
              {"gone", std::max(0.0, 1 - (in_slots + in_store) / all)},
              {"spans", spans_json(session.record().spans(static_cast<std::int64_t>(chunk)), session.record(),
                                   memory.session)}};
    if (by_layer) json["by_layer"] = std::move(lists);
    chunks.push_back(std::move(json));
  }
  std::vector<engine::Span> waiting;
  for (const engine::WindowToken& token : session.window()) {
    if (token.byte_end <= token.byte_begin) continue;
    if (!waiting.empty() && waiting.back().source == token.source &&
        waiting.back().byte_end == token.byte_begin) {
      waiting.back().byte_end = token.byte_end;
    } else {
      waiting.push_back({token.source, token.byte_begin, token.byte_end, 0, 0});
    }
  }
  return json_reply({{"layers", layout.layers},
                     {"rows_per_chunk", layout.K},
                     {"chunks", std::move(chunks)},
                     {"waiting", spans_json(waiting, session.record(), memory.session)}});
}

}  // namespace

void add_look_routes(Router& router, Services& services) {
  // Looking takes no steps, so nobody can change the memory meanwhile.
  const auto look = [&services](Doing doing) {
    return with_memory(services, Using::How::read, std::move(doing));
  };
  router.add("GET", "/v1/memories/{name}/documents",
             look([&services](OpenMemory& memory, Call& call) { return documents(services, memory, call); }));
  router.add("GET", "/v1/memories/{name}/documents/{id}",
             look([&services](OpenMemory& memory, Call& call) { return document(services, memory, call); }));
  router.add("GET", "/v1/memories/{name}/turns",
             look([](OpenMemory& memory, Call&) { return turns(memory); }));
  router.add("GET", "/v1/memories/{name}/events",
             look([](OpenMemory& memory, Call&) { return events(memory); }));
  router.add("GET", "/v1/memories/{name}/timeline",
             look([](OpenMemory& memory, Call& call) { return timeline(memory, call); }));
}

}  // namespace mplus::serve
