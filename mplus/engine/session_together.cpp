// Writing into several sessions in one pass.
#include "mplus/core/error.h"
#include "mplus/engine/ingestion.h"

namespace mplus::engine {

void Session::remember_together(std::span<Session* const> sessions, std::span<const Document> documents) {
  MPLUS_CHECK(sessions.size() == documents.size(), "{} sessions, {} documents", sessions.size(),
              documents.size());
  if (sessions.empty()) return;
  std::vector<Ingestion> ingestions;
  // Everything is checked before anything changes.
  for (std::size_t s = 0; s < sessions.size(); ++s) {
    Session& session = *sessions[s];
    const Document& document = documents[s];
    session.require_memory("remember");
    if (session.engine_ != sessions[0]->engine_)
      fail(ErrorCode::invalid_argument, "sessions of several engines cannot be written together");
    session.check_ids(document.ids);
    const io::MemoryConfig& sizes = *session.engine_->weights().memory;
    const std::int64_t n = document.ids.empty()
                               ? std::ssize(session.engine_->tokenizer().encode(document.text))
                               : std::ssize(document.ids);
    if (n < sizes.K || n > sizes.C || document.first_token != 0)
      fail(ErrorCode::invalid_argument,
           "{}: expected a text of {} to {} tokens to be written with others, found {}", document.source,
           sizes.K, sizes.C, n);
    if (!session.waiting_documents().empty())
      fail(ErrorCode::invalid_argument, "{}: earlier text waits to be written first", document.source);
    ingestions.emplace_back(session, document);
  }
  run_together(sessions[0]->engine_->runner(), std::span(ingestions));
}

}  // namespace mplus::engine
