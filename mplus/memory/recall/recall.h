// Recall: which long-term rows a read brings back. One Recall object lives for one read: `plan` is called
// once if the store holds anything, with the scout pass's states if it wants them, then `rows` inside the
// pass for each layer, from the lowest to the highest (layer l's queries depend on what lower layers
// recalled). Either may be trivial. docs/recall.md says what the rules are.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "mplus/core/recall_policy.h"
#include "mplus/kernels/queue.h"
#include "mplus/memory/memory.h"
#include "mplus/memory/recall/found_chunks.h"
#include "mplus/memory/recall/scores.h"
#include "mplus/memory/recall/search/search.h"
#include "mplus/memory/recall/vote.h"

namespace mplus::memory {

// What a layer's read sees of memory beside bos.
struct LayerRecall {
  std::vector<RecalledRow> rows;  // at most K0 of the store, in the order they are attended to: by birth
  std::optional<std::vector<std::int64_t>> short_term;  // births of the rows it sees there; none: all
};

class Recall {
 public:
  virtual ~Recall() = default;

  virtual bool wants_scout() const { return false; }
  // `scout`: of every layer, or empty if none is wanted. `prior`: null if there is none.
  virtual void plan(kernels::Queue& queue, const Memory& memory, std::span<const LayerQueries> scout,
                    const Prior* prior);
  // Whether `rows` looks at the queries. Where it does not, they need not be computed and waited for.
  virtual bool wants_queries() const { return true; }
  virtual bool wants_attention() const { return true; }  // at those of attention among them
  // Whether queries that a pass left on its device (LayerQueries::there) may be there alone.
  virtual bool asks_on_device() const { return false; }
  // Not called in a layer without a retriever.
  virtual LayerRecall rows(kernels::Queue& queue, const Memory& memory, std::int64_t layer,
                           const LayerQueries& queries) = 0;
  // Of a rule that puts chunks in order; null otherwise.
  virtual FoundChunks* found() { return nullptr; }
};

// What a rule needs beside the policy: of the model, and of the question at hand.
struct RecallInput {
  std::vector<double> layer_weights = {};  // of the vote; empty: all 1
  std::uint64_t seed = 0;                  // of random
  std::vector<std::int64_t> chunks = {};   // of oracle, best first
  bool window_first = false;  // attempts: the window holds newer text, so the first sees no chunk
};

// Keys and values of these rows of the store, [n, kv] each in host memory, whatever they are kept in.
void expand_rows(kernels::Queue& queue, const Memory& memory, std::int64_t layer,
                 std::span<const RecalledRow> rows, Tensor k, Tensor v);

std::unique_ptr<Recall> make_recall(const RecallPolicy& policy, RecallInput input = {});

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
