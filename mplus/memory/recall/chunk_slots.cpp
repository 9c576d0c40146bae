#include "mplus/memory/recall/chunk_slots.h"

#include <algorithm>

#include "mplus/core/error.h"

namespace mplus::memory {

ChunkSlots::ChunkSlots(std::int64_t K, std::int64_t newest_chunk)
    : K_(K), updates_(static_cast<std::size_t>(std::max<std::int64_t>(0, newest_chunk + 1))) {
  MPLUS_CHECK(K > 0, "K = {}", K);
}

void ChunkSlots::add(std::span<const std::int64_t> births) {
  const std::int64_t end = static_cast<std::int64_t>(updates_) * K_;
  for (const std::int64_t birth : births)
    if (birth < 0 || birth >= end) (birth < 0 ? older_ : newer_).push_back(chunk_of(birth, K_));
  for (auto* others : {&older_, &newer_}) {
    std::sort(others->begin(), others->end());
    others->erase(std::unique(others->begin(), others->end()), others->end());
  }
}

std::size_t ChunkSlots::of_other(std::int64_t chunk) const {
  const auto& others = chunk < 0 ? older_ : newer_;
  const auto at = std::lower_bound(others.begin(), others.end(), chunk);
  MPLUS_CHECK(at != others.end() && *at == chunk, "chunk {} has no rows here", chunk);
  const auto place = static_cast<std::size_t>(at - others.begin());
  return chunk < 0 ? place : older_.size() + updates_ + place;
}

bool ChunkSlots::contains(std::int64_t chunk) const {
  if (chunk >= 0 && static_cast<std::uint64_t>(chunk) < updates_) return true;
  const auto& others = chunk < 0 ? older_ : newer_;
  return std::binary_search(others.begin(), others.end(), chunk);
}

std::int64_t ChunkSlots::chunk(std::size_t slot) const {
  if (slot < older_.size()) return older_[slot];
  const std::size_t update = slot - older_.size();
  return update < updates_ ? static_cast<std::int64_t>(update) : newer_[update - updates_];
}

std::vector<std::int64_t> ChunkSlots::chunks() const {
  std::vector<std::int64_t> result(size());
  for (std::size_t slot = 0; slot < result.size(); ++slot) result[slot] = chunk(slot);
  return result;
}

}  // namespace mplus::memory
