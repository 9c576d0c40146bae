#include "mplus/serve/api/memory/memory_json.h"

#include <fmt/core.h>

#include "mplus/store/forget_json.h"

namespace mplus::serve {
namespace {

Json or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

}  // namespace

Json memory_json(const Services& services, const Caller& caller, const store::SessionInfo& info) {
  const OpenMemory* open = services.memories.peek(info.name);
  return {{"object", "memory"},
          {"name", caller.shown(info.name).value_or("")},
          {"created_at", info.created_at / 1000},
          {"changed_at", info.changed_at / 1000},
          {"documents", info.documents},
          {"turns", info.turns},
          {"events", info.events},
          {"updates", open && !open->remade ? open->session.session().memory().updates() : info.updates},
          {"text_bytes", info.text_bytes},
          {"disk_bytes", info.disk_bytes},
          {"model", info.settings.model},
          {"forked_from", or_null(caller.shown(info.forked_from).value_or(""))},
          {"writer", info.writer && !open ? Json(*info.writer) : Json()},
          {"open", open != nullptr},
          {"damage", or_null(info.damage)}};
}

Json state_json(const engine::Session& session) {
  const memory::Layout& layout = session.memory().layout();
  const engine::Engine& engine = session.engine();
  std::int64_t short_term = 0, long_term = 0, waiting = 0;
  for (std::int64_t layer = 0; layer < layout.layers; ++layer) {
    short_term = std::max(short_term, session.memory().short_term(layer).n);
    long_term = std::max(long_term, session.memory().long_term().size(layer));
  }
  for (const engine::WindowToken& token : session.window())
    waiting += session.record().source(token.source).speaker == engine::Speaker::document;
  return {{"layers", layout.layers},
          {"slots", layout.N},
          {"recalled", layout.K0},
          {"chunk_tokens", engine.chunk_tokens()},
          {"rows_per_chunk", layout.K},
          {"window_size", engine.window_tokens()},
          {"window_tokens", session.window().size()},
          {"waiting_tokens", waiting},
          {"short_term_rows", short_term},
          {"long_term_rows", long_term},
          {"capacity", layout.M == memory::kUnlimited ? Json() : Json(layout.M)}};
}

Json source_json(const store::SourceDetails& source) {
  return {{"id", source.id},
          {"name", source.name},
          {"speaker", engine::speaker_name(source.speaker)},
          {"bytes", source.bytes},
          {"tokens", source.tokens},
          {"complete", source.complete},
          {"lost", source.lost},
          {"at", source.at / 1000},
          {"updates", source.updates},
          {"answers", source.answers}};
}

Json document_json(store::Store& store, const std::string& memory, std::int64_t source) {
  for (const store::SourceDetails& details : store::session_details(store, memory).sources)
    if (details.id == source) return source_json(details);
  return {};
}

Json forget_json(const Caller& caller, const store::ForgetReport& report, bool exact, bool planned) {
  Json json = store::forget_json(report, exact, planned);
  json["holders"] = Json::array();  // others' stay unsaid, as does how many there are
  for (const std::string& holder : report.holders)
    if (const auto name = caller.shown(holder)) json["holders"].push_back(*name);
  json["text_is_gone"] =
      !planned && report.holders.empty() && report.left.reader.empty() && report.left.copies.empty();
  return json;
}

Json spans_json(const std::vector<engine::Span>& spans, const engine::Record& record,
                const store::StoredSession& session) {
  Json list = Json::array();
  for (const engine::Span& span : spans) {
    const engine::Source& source = record.source(span.source);
    list.push_back({{"source", session.source_id(span.source)},
                    {"name", source.name},
                    {"speaker", engine::speaker_name(source.speaker)},
                    {"begin", span.byte_begin},
                    {"end", span.byte_end}});
  }
  return list;
}

}  // namespace mplus::serve
