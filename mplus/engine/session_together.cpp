// Writing into several sessions in one pass.
#include <algorithm>

#include "mplus/core/error.h"
#include "mplus/engine/session.h"
#include "mplus/model/write_pass.h"

namespace mplus::engine {

void Session::remember_together(std::span<Session* const> sessions, std::span<const Document> documents) {
  MPLUS_CHECK(sessions.size() == documents.size(), "{} sessions, {} documents", sessions.size(),
              documents.size());
  if (sessions.empty()) return;
  std::vector<std::vector<WindowToken>> tokens(sessions.size());
  std::vector<std::vector<io::TokenId>> ids(sessions.size());
  // Everything is checked before anything changes.
  for (std::size_t s = 0; s < sessions.size(); ++s) {
    const Session& session = *sessions[s];
    const Document& document = documents[s];
    session.require_memory("remember");
    if (session.engine_ != sessions[0]->engine_)
      fail(ErrorCode::invalid_argument, "sessions of several engines cannot be written together");
    session.check_ids(document.ids);
    tokens[s] = document.ids.empty() ? session.tokens_of(document.text, session.record_.sources())
                                     : tokens_of(document.ids, session.record_.sources());
    const io::MemoryConfig& sizes = *session.engine_->weights().memory;
    const auto n = static_cast<std::int64_t>(tokens[s].size());
    if (n < sizes.K || n > sizes.C || document.first_token != 0)
      fail(ErrorCode::invalid_argument,
           "{}: expected a text of {} to {} tokens to be written with others, found {}", document.source,
           sizes.K, sizes.C, n);
    for (const WindowToken& waiting : session.window_)
      if (session.record_.source(waiting.source).speaker == Speaker::document)
        fail(ErrorCode::invalid_argument, "{}: earlier text waits to be written first", document.source);
    for (const WindowToken& token : tokens[s]) ids[s].push_back(token.id);
  }
  std::vector<model::Injection> batch;
  for (std::size_t s = 0; s < sessions.size(); ++s) {
    Session& session = *sessions[s];
    batch.push_back({.chunk = ids[s],
                     .memory = &session.memory_,
                     .drops = session.injected_drops_.empty() ? nullptr : &session.injected_drops_.front()});
  }
  model::inject(sessions[0]->engine_->workspace(), batch);
  for (std::size_t s = 0; s < sessions.size(); ++s) {
    Session& session = *sessions[s];
    const Document& document = documents[s];
    if (!session.injected_drops_.empty()) session.injected_drops_.erase(session.injected_drops_.begin());
    const std::int64_t source = session.record_.add_source(
        {std::string(document.source), Speaker::document, std::string(document.text)});
    const WindowToken& last = tokens[s].back();
    session.record_.add_update({{source, 0, last.byte_end, 0, last.index + 1}});
    session.emit(TextTaken{.source = document.source,
                           .text = document.text,
                           .ids = document.ids,
                           .token_end = last.index + 1,
                           .byte_end = last.byte_end});
  }
}

}  // namespace mplus::engine
