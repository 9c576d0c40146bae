#include "mplus/kernels/rows/choose.h"

#include "mplus/kernels/backend.h"
#include "mplus/kernels/check.h"

namespace mplus::kernels {

void choose(Queue& queue, Tensor out, Tensor logits, std::span<const Choice> choices) {
  check_floats(queue, {logits});
  const std::int64_t vocab = logits.dimensions == 2 ? logits.size(1) : 0;
  MPLUS_CHECK(vocab > 0 && logits.contiguous() && out.elements() == logits.size(0) && out.contiguous() &&
                  out.dtype == DType::i64 && out.device == queue.device() &&
                  std::ssize(choices) == logits.size(0),
              "{} of {} on {} for {} choices of {} rows of {}", out.elements(), dtype_name(out.dtype),
              device_name(out.device), choices.size(), logits.size(0), vocab);
  for (const Choice& choice : choices)
    for (const LogitEdit& one : choice.edits)
      MPLUS_CHECK(one.id >= 0 && one.id < vocab, "an edit of token {} of {}", one.id, vocab);
  if (!choices.empty()) queue.backend().choose(queue, out, logits, choices);
}

}  // namespace mplus::kernels
