// What a session holds, source by source, read from the database and its newest state; no model is needed.
#pragma once

#include <string>
#include <vector>

#include "mplus/store/store.h"

namespace mplus::store {

struct SourceDetails {
  std::int64_t id = 0;
  std::string name;
  engine::Speaker speaker = engine::Speaker::document;
  std::int64_t bytes = 0, tokens = 0;
  bool complete = true;
  std::int64_t at = 0;       // when it came
  std::int64_t updates = 0;  // it was written in, as far as the newest state knows
  std::int64_t first_birth = 0, last_birth = 0;
  std::int64_t answers = 0, rows = 0;  // that recalled it, as far as was counted
  bool lost = false;                   // its text was found damaged
};

struct SessionDetails {
  SessionInfo info;
  std::vector<SourceDetails> sources;  // in the order they came
  std::int64_t undone = 0;             // events
  std::int64_t window_tokens = 0, short_term_rows = 0,
               long_term_rows = 0;  // a layer, at most; in the newest state
  std::int64_t states = 0, segments = 0;
  std::int64_t events_behind_state = 0;  // to be replayed when it is opened
  std::vector<std::string> damage;       // states that are passed over, and why
};

SessionDetails session_details(Store& store, const std::string& name);

}  // namespace mplus::store
