// The updates that a text or a conversation becomes when it is written, told without running the model: what
// a session would do, from its rules alone (docs/decisions.md, "Cutting text"). For plans that something
// else than the engine carries out.
#pragma once

#include <string>
#include <vector>

#include "mplus/engine/engine.h"
#include "mplus/eval/data/samples.h"

namespace mplus::eval {

struct PlannedUpdate {
  std::vector<io::TokenId> ids;
  std::string text;    // what the record says it was cut from, without the template's tokens
  bool plain = false;  // the ids are those of the text by itself
};

// Throws invalid_argument for a text that is too short to be written.
std::vector<PlannedUpdate> updates_of_text(const engine::Engine& engine, const std::string& text);
// `first`: of the memory; the template's own system message stands before it. The window must be empty.
std::vector<PlannedUpdate> updates_of_conversation(const engine::Engine& engine,
                                                   const std::vector<Turn>& turns, bool first);

}  // namespace mplus::eval
