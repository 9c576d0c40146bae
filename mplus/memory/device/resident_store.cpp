#include "mplus/memory/device/resident_store.h"

#include "mplus/kernels/backend.h"

namespace mplus::memory {

kernels::RowBlock columns_of(const RowsView& rows, const Layout& layout) {
  const bool plain = rows.format == RowFormat::plain;
  const DType dtype = plain ? layout.dtype : DType::i8;
  const std::int64_t width = plain ? layout.kv : static_cast<std::int64_t>(layout.kv_bytes(rows.format));
  return {{rows.k, dtype, {rows.n, width}}, {rows.v, dtype, {rows.n, width}}, rows.format};
}

std::size_t bring_long_term(kernels::Queue& queue, const Memory& memory, std::size_t most_bytes) {
  if (queue.device().is_cpu() || most_bytes == 0) return 0;
  std::size_t brought = 0, free = 0;
  bool asked = false;  // how much is free: not where nothing is missing
  for (const SegmentUse& use : memory.long_term().segments())
    for (std::int64_t l = 0; l < memory.layout().layers; ++l) {
      const RowsView view = use.rows(l);
      if (view.n == 0) continue;
      const kernels::RowBlock rows = columns_of(view, memory.layout());
      ResidentColumns& there = use.segment->resident_columns(l);
      const std::int64_t capacity = use.segment->rows(l).n;
      const auto [room, copied] = there.missing(queue, rows, capacity);
      if (copied == 0) continue;
      if (!asked) free = queue.backend().free_bytes();
      asked = true;
      if (brought + copied > most_bytes || room + kDeviceReserve > free) return brought;
      use.segment->touch(l, SegmentPart::keys_and_values);
      if (!there.bring(queue, rows, capacity)) return brought;
      brought += copied;
      free -= room;
    }
  return brought;
}

}  // namespace mplus::memory
