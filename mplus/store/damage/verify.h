// Is a session what it was when it was written? Every checksum and every reference, without a model; with
// one, the journal is replayed and compared bit for bit.
#pragma once

#include <string>
#include <vector>

#include "mplus/store/session/stored_session.h"

namespace mplus::store {

struct VerifyReport {
  std::int64_t events = 0, sources = 0, states = 0, segments = 0;
  std::int64_t bytes = 0;             // of files that were read
  std::vector<std::string> problems;  // each with what it means
  std::string verdict;                // what is lost, in one sentence; empty: nothing
  std::string replay;                 // how the replay went, if it was asked for
  bool sound() const { return problems.empty(); }
};

VerifyReport verify_session(Store& store, const std::string& name);
// Adds the comparison with a replay from the journal alone.
void verify_by_replay(Store& store, engine::Engine& engine, const std::string& name, VerifyReport& report);

// Where two sessions differ first; empty: nowhere.
std::string first_difference(const engine::Session& a, const engine::Session& b, bool values);

}  // namespace mplus::store
