// Recall: which long-term rows a read brings back. One Recall object lives for one read: `plan` is called
// once if the store holds anything, with the scout pass's states if it wants them, then `rows` inside the
// pass for each layer, from the lowest to the highest (layer l's queries depend on what lower layers
// recalled). Either may be trivial. docs/recall.md says what the rules are.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mplus/kernels/context.h"
#include "mplus/memory/memory.h"
#include "mplus/memory/recall/scores.h"
#include "mplus/memory/recall/search.h"
#include "mplus/memory/recall/vote.h"

namespace mplus::memory {

class Recall {
 public:
  virtual ~Recall() = default;

  virtual bool wants_scout() const { return false; }
  // `scout`: of every layer, or empty if none is wanted. `prior`: null if there is none.
  virtual void plan(kernels::Context& context, const Memory& memory, std::span<const LayerQueries> scout,
                    const Prior* prior);
  // At most K0 rows, in the order in which they are attended to: by birth. Not called in a layer without a
  // retriever.
  virtual std::vector<RecalledRow> rows(kernels::Context& context, const Memory& memory, std::int64_t layer,
                                        const LayerQueries& queries) = 0;
  // Births of the short-term rows that the read sees in this layer, once rows() was called; none: all of
  // them.
  virtual std::optional<std::vector<std::int64_t>> short_term(std::int64_t) const { return std::nullopt; }
  // Where what was found is read piece by piece (ReadOver::in_turn): whether there is another piece, and on
  // to it. The read is done again then, with rows() for each layer.
  virtual bool has_next() const { return false; }
  virtual void next() {}
  // How far the piece at hand stands behind the best, in standard deviations of what pieces were ordered by;
  // none where all is read at once, or nothing.
  virtual std::optional<double> behind() const { return std::nullopt; }
  // What the chunks were ordered by, where the rule orders chunks; the scores behind it, where it has those
  // of every row.
  virtual const Votes* votes() const { return nullptr; }
  virtual std::span<const ScoredRows> scores() const { return {}; }
};

enum class RecallRule {
  none,
  per_layer,  // the paper's: each layer takes the rows its own queries score best
  consensus,  // the layers vote on chunks
  hybrid,     // vote and prior together
  words,      // the prior alone
  random,     // rows drawn by seed
  attention,  // each layer takes the rows with the highest query · key product
  oracle,     // given chunks first, then by vote
  vector,     // one vector a chunk, cosine with the question's
};

inline constexpr RecallRule kRecallRules[] = {
    RecallRule::hybrid, RecallRule::consensus, RecallRule::words,  RecallRule::per_layer, RecallRule::none,
    RecallRule::random, RecallRule::attention, RecallRule::oracle, RecallRule::vector};

std::optional<RecallRule> recall_rule_from_name(std::string_view name);
std::string_view recall_rule_name(RecallRule rule);
std::string recall_rule_names();  // all of them, for messages

// What a question sees of memory beside bos.
enum class ReadOver {
  everything,  // all of short-term memory, and what was recalled: as published
  recalled,    // of short-term memory, too, only the rows among the K0 of a recall over everything
  in_turn,     // the same, one chunk at a time, the newest first, until one of them gives an answer
};
std::optional<ReadOver> read_over_from_name(std::string_view name);
inline constexpr std::string_view kReadOverNames[] = {"everything", "recalled", "in-turn"};  // in that order

struct RecallOptions {
  VoteOptions vote;
  double prior_weight = 1;           // λ of hybrid
  std::uint64_t seed = 0;            // of random
  std::vector<std::int64_t> chunks;  // of oracle, best first
  SearchOptions search = {};         // of the rules that put chunks in order, but vector
  // Of the same rules: short-term rows take part in the vote, and those of a chunk that comes first count
  // among its K0 rows. So what is in short-term memory already is not crowded by what answers worse.
  bool over_everything = false;
  // Of the rules that put chunks in order: those further behind the best one than so many standard deviations
  // of what they are ordered by are not recalled: beside a clear winner they only distract. Chunks given to
  // oracle always are.
  double margin = kNoMargin;
  // All but `everything` are for the rules that put chunks in order, but vector, with over_everything. What
  // stands beside the chunk that answers distracts, and a chunk that says the same of another time more so.
  ReadOver read_over = ReadOver::everything;
  std::int64_t most_in_turn = 3;  // chunks, of those within the margin
  bool window_first = false;      // in turn: the window holds newer text, so the first turn sees no chunk
};

std::unique_ptr<Recall> make_recall(RecallRule rule, RecallOptions options = {});

// Recalls the rows of these births in each layer, in this order, whatever is asked: replaying a recorded
// read. A birth that stands there twice means two rows of that birth (loaded checkpoints have such)
// in store order, or one row twice where there is but one.
// 2·L lists: the second half names short-term rows, and the read sees no others of them; what has been
// dropped to the store since is recalled.
std::unique_ptr<Recall> recall_births(std::vector<std::vector<std::int64_t>> births_by_layer);

// The same for rows by their number in the life of the store, which no other row has; those that have
// expired are left out.
std::unique_ptr<Recall> recall_ordinals(std::vector<std::vector<std::int64_t>> ordinals_by_layer);
std::int64_t ordinal_of(const Memory& memory, std::int64_t layer, RowId id);

}  // namespace mplus::memory
