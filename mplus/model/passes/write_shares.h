// The sessions of a write pass: which of the stacked rows are whose, and the parts of a layer that are done
// for each of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "mplus/memory/memory.h"
#include "mplus/model/passes/workspace.h"
#include "mplus/model/passes/write_pass.h"

namespace mplus::model {

// One session's rows among the stacked ones. Queried rows ("active") of all sessions come first, so that the
// second half of a layer works on one matrix; tail rows that only supply keys and values ("context") stand
// behind them.
struct WriteShare {
  memory::Memory* memory;
  std::int64_t tail;     // t
  std::int64_t tokens;   // T
  std::int64_t written;  // n = min(K, t + T)
  std::int64_t extra;    // tail rows that are queried too, because T < K
  std::int64_t active_at = 0, context_at = 0, written_at = 0, cache_at = 0;

  std::int64_t active() const { return extra + tokens; }
  std::int64_t context() const { return tail - extra; }
  std::int64_t cached() const { return 1 + tail + tokens; }
  // The same in a layer without a memory: the chunk alone, as if nothing had been written yet.
  WriteShare without_tail() const {
    return {.memory = memory,
            .tail = 0,
            .tokens = tokens,
            .written = std::min(written, tokens),
            .extra = 0,
            .active_at = active_at + extra,
            .cache_at = cache_at};
  }
};

// The chunks' embeddings, where their rows stand.
void embed_chunks(Workspace& w, Tensor x, std::span<const WriteShare> shares,
                  std::span<const WriteItem> batch);
// Rows of [tail ; x] at this depth, the positional vector added to the last n of them.
void place_tail(Workspace& w, Tensor x, std::span<const WriteShare> shares, std::int64_t layer);
// Attention of every session's active rows over its own [bos ; context ; active], positions from 0 over that
// list.
void attend_shares(Workspace& w, const Activations& a, std::span<const WriteShare> shares,
                   std::int64_t layer);

}  // namespace mplus::model
