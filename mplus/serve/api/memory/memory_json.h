// Memories and their parts as clients see them (docs/server.md).
#pragma once

#include <string>

#include "mplus/serve/api/services.h"
#include "mplus/store/database/details.h"

namespace mplus::serve {

Json memory_json(const Services& services, const Caller& caller, const store::SessionInfo& info);
Json state_json(const engine::Session& session);
Json source_json(const store::SourceDetails& source);
Json document_json(store::Store& store, const std::string& memory, std::int64_t source);
Json forget_json(const Caller& caller, const store::ForgetReport& report, bool exact, bool planned);
Json spans_json(const std::vector<engine::Span>& spans, const engine::Record& record,
                const store::StoredSession& session);

}  // namespace mplus::serve
