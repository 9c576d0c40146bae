// Numbers chunks without gaps, oldest first, so that sums over a chunk's rows are array accesses: one slot
// for each of the updates 0 … newest, and one for every other chunk that rows lead to (what a checkpoint
// brought: negative, and as far apart as its ages are).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mplus/memory/layout.h"

namespace mplus::memory {

class ChunkSlots {
 public:
  ChunkSlots(std::int64_t K, std::int64_t newest_chunk);
  void add(std::span<const std::int64_t> births);  // of every layer, before slots are asked for

  std::size_t size() const { return older_.size() + updates_ + newer_.size(); }
  std::size_t of_chunk(std::int64_t chunk) const {
    if (chunk >= 0 && static_cast<std::uint64_t>(chunk) < updates_)
      return older_.size() + static_cast<std::size_t>(chunk);
    return of_other(chunk);
  }
  bool contains(std::int64_t chunk) const;
  std::size_t of_birth(std::int64_t birth) const { return of_chunk(chunk_of(birth, K_)); }
  std::int64_t K() const { return K_; }
  std::int64_t chunk(std::size_t slot) const;
  std::vector<std::int64_t> chunks() const;  // by slot

 private:
  std::size_t of_other(std::int64_t chunk) const;

  std::int64_t K_;
  std::size_t updates_;
  std::vector<std::int64_t> older_, newer_;  // chunks that are none of the updates
};

// Neighbouring rows mostly come from one chunk: no division for each of them.
class ChunkCursor {
 public:
  explicit ChunkCursor(const ChunkSlots& slots) : slots_(slots) {}
  std::size_t slot(std::int64_t birth) {
    if (static_cast<std::uint64_t>(birth) - first_ >= static_cast<std::uint64_t>(slots_.K())) {
      const std::int64_t chunk = chunk_of(birth, slots_.K());
      first_ = static_cast<std::uint64_t>(chunk * slots_.K());
      slot_ = slots_.of_chunk(chunk);
    }
    return slot_;
  }

 private:
  const ChunkSlots& slots_;
  std::uint64_t first_ = 1ull << 63;  // no birth is that far away
  std::size_t slot_ = 0;
};

}  // namespace mplus::memory
