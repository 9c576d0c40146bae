#include "mplus/kernels/rows/embedding.h"

#include "mplus/kernels/backend.h"
#include "mplus/kernels/check.h"

namespace mplus::kernels {

void embed(Queue& queue, Tensor out, const Matrix& table, std::span<const std::int32_t> ids) {
  check_floats(queue, {out});
  check_matrix(out, table.cols);
  if (!table.device.is_cpu()) check_device(queue, table);
  MPLUS_CHECK(out.size(0) == std::ssize(ids), "{} tokens into {} rows", ids.size(), out.size(0));
  for (const std::int32_t id : ids) MPLUS_CHECK(id >= 0 && id < table.rows, "token {} of {}", id, table.rows);
  queue.backend().embed(queue, out, table, ids);
}

}  // namespace mplus::kernels
