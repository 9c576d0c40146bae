// New tokens of several sessions on their way into their attention caches.
#pragma once

#include <span>

#include "mplus/core/tensor.h"
#include "mplus/kernels/kv.h"
#include "mplus/kernels/queue.h"

namespace mplus::kernels {

struct TokenRows {                  // of one session, in one layer
  KvCache cache;                    // behind its rows there is room for T more
  Tensor q;                         // [T, H·e] f32
  ConstTensor k, v;                 // [T, G·e] f32
  Tensor kept_k = {}, kept_v = {};  // [T, G·e] f32 or bf16; empty: they are not kept
};

// For each session: kept = k and v, rounded to its type; the cache gets what was kept, or k and v, behind its
// rows (append_rows), and q is rotated to the same positions. The caller raises cache.rows.
void append_tokens(Queue& queue, std::span<const TokenRows> sessions, const KvShape& shape,
                   const RopeTable& angles);

}  // namespace mplus::kernels
