#include "mplus/kernels/retrieval/chunk_sums.h"

#include "mplus/kernels/backend.h"
#include "mplus/kernels/check.h"

namespace mplus::kernels {
namespace {

void check_integers(const Queue& queue, const ConstTensor& x, std::int64_t n) {
  MPLUS_CHECK(x.device == queue.device() && x.dtype == DType::i64 && x.contiguous() && x.elements() == n,
              "{} of {} on {}, expected {}", x.elements(), dtype_name(x.dtype), device_name(x.device), n);
}

}  // namespace

void chunk_sums(Queue& queue, std::span<const ChunkSums> layers, const ChunkRule& rule) {
  MPLUS_CHECK(rule.K > 0 && rule.chunks >= 0 && rule.top >= 0, "{} chunks of {}, the best {}", rule.chunks,
              rule.K, rule.top);
  for (const ChunkSums& layer : layers) {
    check_integers(queue, layer.sums, rule.chunks);
    check_integers(queue, layer.rows, rule.chunks + 1);
    for (const ScorePart& part : layer.parts) {
      check_floats(queue, {part.scores});
      check_integers(queue, part.births, part.scores.elements());
    }
  }
  if (!layers.empty()) queue.backend().chunk_sums(queue, layers, rule);
}

}  // namespace mplus::kernels
