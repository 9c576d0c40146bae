// One read of a session in progress: recall, the attention cache, and logits token by token. It makes the
// work that a Runner does (run/steps.h).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "mplus/engine/answer/answer.h"
#include "mplus/engine/answer/attempt_choice.h"
#include "mplus/engine/answer/why.h"
#include "mplus/engine/engine.h"
#include "mplus/engine/run/steps.h"
#include "mplus/memory/window.h"

namespace mplus::engine {

// Tokens [scouts_begin, scouts_end) ask what to recall. The tokens must stay until it was read.
struct Prompt {
  std::span<const io::TokenId> tokens;
  std::int64_t scouts_begin = 0, scouts_end = 0;
  bool as_long = false;  // model::ReadItem
};

class Reading {
 public:
  // `memory` and `rows` belong to the session; rows grow by what is read. `text_waits`: in the window, newer
  // than all of memory; where chunks are read one by one it comes first.
  Reading(Engine& engine, const memory::Memory& memory, memory::WindowRows& rows,
          const GenerateOptions& options, bool text_waits = false);

  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

  // Reads the prompt, block by block. `expected` more tokens will follow: room is made for them now. The
  // sink, which must outlive the read, gets logits from token `logits_from` on.
  Steps<> prefill(Prompt prompt, std::int64_t expected, std::int64_t logits_from, const TokenLogits& sink);
  // To be done before the next call. Where `chosen` is not null, the token to follow comes there, and no
  // logits to the sink.
  Work& step(io::TokenId token, const TokenLogits& sink, model::ChosenToken* chosen);
  // Where chunks are read one by one: on to the next one, for another prefill of the same tokens. True: it
  // sees the same rows, so the read stands behind the prompt already.
  bool has_next() const { return attempts() && attempts()->has_next(); }
  bool next();
  // Behind the prompt once more, as if nothing had been generated. False: what it sees has changed since.
  bool back_to_prompt();
  std::vector<std::int64_t> best_chunks() const;  // of those in order, the few whose text is looked at
  void attempt_next(const std::vector<std::int64_t>& chunks);  // these, in this order, and no others
  void again();  // for another prefill of the same tokens, over the same rows
  std::optional<double> behind() const { return attempts() ? attempts()->behind() : std::nullopt; }
  // Where chunks are read one by one, those of the best come first whose text speaks for an answer. To be
  // said before the first read.
  void prefer(SpeaksFor speaks_for) { speaks_for_ = std::move(speaks_for); }
  // Decides what to recall with this prompt; otherwise prefill does, with its own.
  Steps<> plan(Prompt prompt);
  // Chunks by what recall ordered them by, best first, as far as it did.
  std::vector<std::int64_t> found_order() const;
  // For another prefill: the rows of these chunks alone, together.
  void read_together(std::span<const std::int64_t> chunks);
  void memory_changed();  // after a write: attended rows are assembled anew, with the rows recalled before

  std::vector<WhyChunk> why(const Record& record) const;
  // Chunks of short- and long-term memory, best first; if `why` or `reread` was asked for.
  std::vector<std::int64_t> ranking() const { return ranking_.totals.order(); }
  std::vector<std::vector<std::int64_t>> recalled_births() const;  // [L]
  // [L], of short-term rows; empty where all of them are seen.
  const std::vector<std::vector<std::int64_t>>& seen_births() const { return seen_; }
  const RecallPolicy& policy() const { return policy_; }  // resolved; a strategy of the caller's: rule none

 private:
  memory::Attempts* attempts() const {
    memory::FoundChunks* found = recall_ ? recall_->found() : nullptr;
    return found ? &found->attempts : nullptr;
  }
  bool has_rows() const;  // memory: of any chunk
  bool anything_to_recall() const;
  RecallPolicy resolved_policy() const;
  RecallRule chosen_rule() const;
  void put_first();
  std::vector<std::int64_t> blocks(const Prompt& prompt) const;  // their lengths
  void note_recalled();
  void rank(kernels::Queue& queue, std::span<const memory::LayerQueries> scout,
            std::span<const memory::ScoredRows> long_term);
  memory::Votes totals_of(memory::Votes votes) const;  // with words, where the rule has them
  model::ReadItem item(std::span<const io::TokenId> tokens);

  Engine* engine_;
  const memory::Memory* memory_;
  memory::WindowRows* rows_;
  const GenerateOptions* options_;
  RecallPolicy policy_;
  std::unique_ptr<memory::Recall> recall_;
  model::AttentionCache cache_;
  std::vector<std::vector<memory::RecalledRow>> recalled_;  // [L]
  std::vector<std::vector<std::int64_t>> ordinals_;         // [L] their names, which outlive writes
  std::vector<std::vector<std::int64_t>> seen_;  // [L] births of short-term rows, where not all are
  std::vector<std::int64_t> prompt_rows_;        // [L] of the cache behind the prompt; empty: it is another
  SpeaksFor speaks_for_;
  bool planned_ = false;
  std::size_t attempted_ = 0;  // chunks, before the one that is read
  io::TokenId decoding_ = 0;
  Work decode_ = Decode{};
  Ranking ranking_;
};

}  // namespace mplus::engine
