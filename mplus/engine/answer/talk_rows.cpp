#include "mplus/engine/answer/talk_rows.h"

#include <algorithm>
#include <utility>

#include "mplus/core/tensors/memory_budget.h"

namespace mplus::engine {

std::shared_ptr<const TalkRows> TalkRows::kept(std::vector<io::TokenId> ids, std::int64_t start,
                                               const memory::WindowRows& rows) {
  const std::size_t size_bytes = ids.size() * rows.token_size_bytes();
  if (size_bytes > host_budget().spare()) return nullptr;
  return std::shared_ptr<const TalkRows>(new TalkRows(std::move(ids), start, rows, size_bytes));
}

TalkRows::TalkRows(std::vector<io::TokenId> ids, std::int64_t start, const memory::WindowRows& rows,
                   std::size_t size_bytes)
    : ids_(std::move(ids)), start_(start), rows_(rows, std::ssize(ids_)), size_bytes_(size_bytes) {
  host_budget().take_spare(size_bytes_);
}

TalkRows::~TalkRows() { host_budget().give_back_spare(size_bytes_); }

std::int64_t TalkRows::common(std::span<const io::TokenId> ids, std::int64_t start) const {
  if (start != start_) return 0;
  return std::ranges::mismatch(ids_, ids).in1 - ids_.begin();
}

memory::WindowRows TalkRows::first(std::int64_t count) const { return {rows_, count}; }

}  // namespace mplus::engine
