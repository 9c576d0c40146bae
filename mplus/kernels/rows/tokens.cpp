#include "mplus/kernels/rows/tokens.h"

#include "mplus/kernels/attention/rope.h"
#include "mplus/kernels/backend.h"
#include "mplus/kernels/check.h"
#include "mplus/kernels/rows/rows.h"

namespace mplus::kernels {

void append_tokens(Queue& queue, std::span<const TokenRows> sessions, const KvShape& shape,
                   const RopeTable& angles, std::int32_t first_note) {
  for (const TokenRows& session : sessions) {
    const bool asks = !session.q.empty();
    const std::int64_t T = session.k.size(0);
    check_floats(queue, {session.k, session.v});
    check_matrix(session.k, shape.groups * shape.head_size);
    check_same_shape(session.k, session.v);
    if (asks) check_floats(queue, {session.q});
    if (asks) check_matrix(session.q, shape.heads * shape.head_size);
    MPLUS_CHECK((!asks || session.q.size(0) == T) && session.cache.rows + T <= session.cache.capacity() &&
                    session.cache.rows + T <= angles.positions(),
                "{} queries, {} keys behind {} rows of {}, angles of {}", asks ? session.q.size(0) : 0, T,
                session.cache.rows, session.cache.capacity(), angles.positions());
    if (session.kept_k.empty()) continue;
    for (const Tensor* kept : {&session.kept_k, &session.kept_v}) {
      check_same_shape(*kept, session.k);
      MPLUS_CHECK((kept->dtype == DType::f32 || kept->dtype == DType::bf16) && kept->contiguous() &&
                      kept->dtype == session.kept_k.dtype && kept->device == queue.device(),
                  "kept as {} on {}", dtype_name(kept->dtype), device_name(kept->device));
    }
  }
  if (!sessions.empty()) queue.backend().append_tokens(queue, sessions, shape, angles, first_note);
}

void Backend::append_tokens(Queue& queue, std::span<const TokenRows> sessions, const KvShape& shape,
                            const RopeTable& angles, std::int32_t first_note) const {
  for (const TokenRows& session : sessions) {
    if (first_note != kNoNote) {
      const Note notes[] = {
          {session.k, first_note + 1}, {session.v, first_note + 2}, {session.q, first_note}};
      kernels::note_finite(queue, {notes, session.q.empty() ? 2u : 3u});
    }
    KvCache cache = session.cache;
    RowBlock rows{session.k, session.v};
    if (!session.kept_k.empty()) {
      kernels::copy(queue, session.kept_k, session.k);
      kernels::copy(queue, session.kept_v, session.v);
      rows = {session.kept_k, session.kept_v};
    }
    kernels::append_rows(queue, cache, shape, rows, angles);
    if (!session.q.empty()) kernels::rope(queue, session.q, angles, session.cache.rows);
  }
}

}  // namespace mplus::kernels
