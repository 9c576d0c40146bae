// New tokens of several sessions on their way into their attention caches.
#pragma once

#include <cstdint>
#include <span>

#include "mplus/core/tensors/tensor.h"
#include "mplus/kernels/attention/kv.h"
#include "mplus/kernels/queue.h"

namespace mplus::kernels {

struct TokenRows {                  // of one session, in one layer
  KvCache cache;                    // behind its rows there is room for T more
  Tensor q = {};                    // [T, H·e] f32; empty: rows that ask nothing
  ConstTensor k = {}, v = {};       // [T, G·e] f32
  Tensor kept_k = {}, kept_v = {};  // [T, G·e] f32 or bf16; empty: they are not kept
};

inline constexpr std::int32_t kNoNote = -1;

// For each session: kept = k and v, rounded to its type; the cache gets what was kept, or k and v, behind its
// rows (append_rows), and q is rotated to the same positions. The caller raises cache.rows. Where a number is
// given, q, k and v are also looked at by note_finite, as first_note, first_note + 1 and first_note + 2.
void append_tokens(Queue& queue, std::span<const TokenRows> sessions, const KvShape& shape,
                   const RopeTable& angles, std::int32_t first_note = kNoNote);

}  // namespace mplus::kernels
