// Recall: which long-term rows a read brings back. One Recall object lives for one read: `plan` is called
// once with the scout pass's states if it wants one and the store holds anything, then `rows` inside the pass
// for each layer, from the lowest to the highest (layer l's queries depend on what lower layers recalled).
// Either may be trivial.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mplus/kernels/context.h"
#include "mplus/memory/memory.h"
#include "mplus/memory/vote.h"

namespace mplus::memory {

// What a layer knows of the question: states of the T tokens that ask (the scouts).
struct LayerQueries {
  std::int64_t T = 0;
  const float* retriever = nullptr;  // [T, d_r]; null in a layer without a retriever
  const float* attention = nullptr;  // [T, H·e], before RoPE
};

// A score per chunk from outside (such as a full-text index), or none.
using Prior = std::function<double(std::int64_t chunk)>;

struct RecalledRow {
  RowId id;
  std::int64_t birth = 0;
  float score = 0;
};

class Recall {
 public:
  virtual ~Recall() = default;

  virtual bool wants_scout() const { return false; }
  virtual void plan(kernels::Context& context, const Memory& memory, std::span<const LayerQueries> scout,
                    const Prior* prior);
  // At most K0 rows, in the order in which they are attended to: by birth. Not called in a layer without a
  // retriever.
  virtual std::vector<RecalledRow> rows(kernels::Context& context, const Memory& memory, std::int64_t layer,
                                        const LayerQueries& queries) = 0;
  virtual const Votes* votes() const { return nullptr; }  // of the chunks, where the rule has them
};

enum class RecallRule { none, per_layer, consensus };

std::optional<RecallRule> recall_rule_from_name(std::string_view name);
std::string_view recall_rule_name(RecallRule rule);

std::unique_ptr<Recall> make_recall(RecallRule rule, VoteOptions options = {});

// Recalls the rows of these births in each layer, in this order, whatever is asked: replaying a recorded
// read.
std::unique_ptr<Recall> recall_births(std::vector<std::vector<std::int64_t>> births_by_layer);

// score(j) = mean over the query's tokens of sigmoid(q_t · key_j) for every living row of a layer's long-term
// store, in store order, and for its short-term slots.
struct ScoredRows {
  std::vector<RowId> ids;  // empty for short-term slots
  std::vector<std::int64_t> births;
  std::vector<float> scores;
  LayerScores view() const { return {births, scores}; }
};
ScoredRows score_long_term(kernels::Context& context, const Memory& memory, std::int64_t layer,
                           const LayerQueries& queries);
ScoredRows score_short_term(kernels::Context& context, const Memory& memory, std::int64_t layer,
                            const LayerQueries& queries);

// The vote over short- and long-term rows together: what is shown to people.
Votes vote_over_everything(kernels::Context& context, const Memory& memory,
                           std::span<const LayerQueries> scout, const VoteOptions& options = {});

}  // namespace mplus::memory
