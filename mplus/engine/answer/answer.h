// What is asked of a session and what comes back.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mplus/engine/answer/sampling/constraint.h"
#include "mplus/engine/answer/sampling/sampler.h"
#include "mplus/engine/record.h"
#include "mplus/engine/run/until.h"
#include "mplus/memory/recall/recall.h"
#include "mplus/model/passes/read_pass.h"

namespace mplus::engine {

struct GenerateOptions {
  std::int64_t max_tokens = 256;
  SamplingOptions sampling;
  std::vector<std::string> stop;                            // text ends before the first of these
  std::function<bool(std::string_view)> on_text;            // called with every new piece; false stops
  std::function<std::unique_ptr<Constraint>()> constraint;  // what the text may be; made for each attempt
  std::optional<std::size_t> chances;  // fill Answer::chances, with so many other tokens in each place
  // Looked at before every step: a token, a block of the prompt, a chunk to be written; a flag before every
  // layer of those two as well. Stopped before the first token, there is no answer, and a turn was not taken.
  Until cancel;

  // Recall: what differs from the model's policy, or a strategy of the caller's own (made for each read).
  // What is read over, unset: as the policy says where a question is asked (ask, say), else everything.
  RecallRequest recall;
  std::function<std::unique_ptr<memory::Recall>()> recall_strategy;
  // A score per chunk from outside: as it stands, or made from the question's own words (in a conversation
  // the newest message). With either, a model trained for consensus recalls by hybrid.
  memory::Prior prior;
  std::function<memory::Prior(std::string_view question)> words;
  std::vector<std::int64_t> oracle_chunks;  // recalled first under the oracle rule
  std::uint64_t recall_seed = 0;            // of the random rule
  const model::ReadTaps* taps = nullptr;    // look into the first pass
  bool why = false;                         // fill Answer::why
  bool plain = false;  // the base model alone: without the delta, and nothing of the memory is read
  // So many of the chunks voted best are put in front of the question as text, as far as the window has room.
  std::int64_t reread = 0;
};

enum class StopReason { end_of_text, stop_string, max_tokens, context_full, cancelled };
std::string_view stop_reason_name(StopReason reason);

// A chunk of earlier text that an answer could draw on. Layers are those that keep a memory.
struct WhyChunk {
  std::int64_t chunk = 0;   // the update that wrote it; negative: the checkpoint brought it, no text is known
  std::vector<Span> spans;  // where its text stands in the sources
  double vote = 0;          // of the layers, over short- and long-term rows together; in standard deviations
  double words = 0;         // what the prior says of it
  double total = 0;         // what chunks are ordered by: the vote, or both together where the rule has words
  std::int64_t layers_first = 0;      // in how many layers no chunk scores better
  std::vector<double> layer_votes;    // standardised scores, NaN in a layer that has none of its rows
  bool reread = false;                // its text stood in front of the question
  bool passed = false;                // it was read before, by itself, and gave no answer
  double weight = 0;                  // its share of what was recalled, mean over layers; all shares sum to 1
  std::vector<double> layer_weights;  // its share in each layer
  std::int64_t rows_recalled = 0;     // over all layers
  std::int64_t rows_short_term = 0;   // over all layers, still in short-term memory
};

// What was said on a passage that speaks of others than the question names, and so was no answer.
struct Refuted {
  std::optional<std::int64_t> chunk;  // none: text in the window
  std::string said;
  std::string names;  // of the question, which the passage does not speak of
};

struct Answer {
  std::string text;
  std::vector<io::TokenId> tokens;
  StopReason reason = StopReason::max_tokens;
  std::vector<TokenChances> chances;     // of `tokens`, if asked for
  RecallRule recall = RecallRule::none;  // as it was done; a strategy of the caller's own: none
  std::vector<WhyChunk> why;             // by falling total
  std::vector<std::int64_t> reread;      // chunks whose text stood in front of the question, oldest first
  // Chunks that were read before, one at a time, and gave no answer.
  std::vector<std::int64_t> passed;
  std::vector<Refuted> refuted;
  // Asked of what a passage names, where that led on to another (RecallPolicy::hops); its answer is this one.
  std::string asked_on;
  bool by_base = false;  // it is the base model's own, and nothing of the memory was read for it (talk.h)
  // Text not written yet that gave the answer, read before any chunk; empty where memory was read.
  std::vector<Span> waiting;
  std::vector<std::vector<std::int64_t>> recalled_births;  // [L], in the order they were attended to
  std::vector<std::vector<std::int64_t>> seen_births;  // [L], of short-term memory; empty: all of it was seen
  std::int64_t read_tokens = 0;                        // of `tokens`, those the model read back
  std::int64_t prompt_tokens = 0;
  double prefill_seconds = 0;  // scout pass and recall included
  double decode_seconds = 0;
};

}  // namespace mplus::engine
