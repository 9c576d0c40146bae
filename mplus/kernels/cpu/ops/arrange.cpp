#include <algorithm>

#include "mplus/core/error.h"
#include "mplus/kernels/cpu/ops/operations.h"
#include "mplus/kernels/isa.h"

namespace mplus::kernels::cpu {
namespace {

constexpr std::int64_t kMostGroups = 32;  // of an item

std::int64_t groups_of(const Matrix& w) {
  const std::int64_t group = table().group_weights;
  return (w.rows + group - 1) / group;
}

}  // namespace

std::size_t arranged_bytes(Numerics numerics, const Matrix& w) {
  const bool codes = is_quantised(w.dtype) || (w.dtype == DType::i8 && w.cols % kQuantBlock == 0);
  if (numerics == Numerics::exact || !codes || w.interleaved || table().interleave == nullptr) return 0;
  return static_cast<std::size_t>(groups_of(w) * table().group_weights) * w.row_size_bytes();
}

Matrix arrange(Queue& queue, std::byte* to, const Matrix& w) {
  MPLUS_CHECK(arranged_bytes(queue.numerics(), w) > 0, "{} weights have no other order", dtype_name(w.dtype));
  const LinearJob job{.w = static_cast<const std::byte*>(w.data),
                      .row_scales = w.row_scales,
                      .dtype = w.dtype,
                      .inputs = w.cols,
                      .outputs = w.rows,
                      .row_bytes = static_cast<std::int64_t>(w.row_size_bytes()),
                      .quantised = {}};
  const std::int64_t groups = groups_of(w);
  const std::int64_t size = std::clamp<std::int64_t>(groups / (4 * queue.pool().size()), 1, kMostGroups);
  queue.pool().run((groups + size - 1) / size, [&](std::int64_t item, int) {
    table().interleave(to, job, item * size, std::min(groups, (item + 1) * size));
  });
  Matrix arranged = w;
  arranged.data = to;
  arranged.interleaved = true;
  return arranged;
}

}  // namespace mplus::kernels::cpu
