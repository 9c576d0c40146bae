// Small segments, which short visits to a session leave, written together into one file by a thread of its
// own while the session goes on. Its next state uses that file if the segments are then what they were. Until
// a row names it, nobody but its maker knows the file: it goes with the merge or, should the process die,
// when the next writer clears up.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <stop_token>
#include <thread>

#include "mplus/memory/long_term.h"
#include "mplus/store/segments/segment_file.h"

namespace mplus::store {

struct SegmentRun {
  std::size_t first = 0, count = 0;
};

// Neighbours that are worth putting together, the oldest first; none: there are no such. The state before
// still uses them, so for a while their rows are there twice: at most 1/24 of all, or those of two updates. A
// row is written again only with half as many others at least, so a few times in its life.
std::optional<SegmentRun> worth_merging(std::span<const memory::SegmentUse> segments, std::int64_t K);

class SegmentMerge {
 public:
  // Of a copy of the store; the segments of the run are complete.
  SegmentMerge(memory::LongTermStore store, const memory::Layout& layout, SegmentRun run,
               std::filesystem::path path);
  ~SegmentMerge();  // stops it; the file goes unless it was taken
  SegmentMerge(const SegmentMerge&) = delete;
  SegmentMerge& operator=(const SegmentMerge&) = delete;

  struct Merged {
    SegmentRun place;  // in the store as it is now
    memory::LongTermStore::Replacement by;
    SegmentFile file;
  };
  // Waits for the end, and leaves the file to the caller. None: it could not be written, or the store has
  // other segments by now, or fewer living rows in them.
  std::optional<Merged> take(const memory::LongTermStore& now);

 private:
  void write(const std::stop_token& stop) noexcept;
  std::optional<std::size_t> place_in(const memory::LongTermStore& now) const;

  const memory::LongTermStore store_;
  const memory::Layout layout_;
  const SegmentRun run_;
  const std::filesystem::path path_;
  std::optional<Merged> merged_;  // the thread's until it has ended
  std::jthread thread_;
};

}  // namespace mplus::store
