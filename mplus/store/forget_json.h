// What a forgetting did, or would do, for programs.
#pragma once

#include "mplus/io/text/ordered_json.h"
#include "mplus/store/session/stored_session.h"

namespace mplus::store {

// `planned`: it was not done.
io::OrderedJson forget_json(const ForgetReport& report, bool exact, bool planned);

std::int64_t tokens_written_again(const engine::ForgetResult& removed);

}  // namespace mplus::store
