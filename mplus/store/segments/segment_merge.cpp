#include "mplus/store/segments/segment_merge.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace mplus::store {
namespace {

constexpr std::int64_t kMergedShare = 24;  // of all rows at most one in so many is there twice

std::int64_t most_rows(const memory::SegmentUse& use) {
  return *std::max_element(use.used.begin(), use.used.end());
}

// Of the run that begins with the first of these: how many belong to it. 0: none.
std::size_t run_length(std::span<const memory::SegmentUse> segments, std::int64_t most) {
  std::int64_t rows = 0, largest = 0;
  std::size_t length = 0;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (segments[i].segment->format() != segments[0].segment->format()) break;
    const std::int64_t here = most_rows(segments[i]);
    rows += here;
    largest = std::max(largest, here);
    if (rows > most) break;
    if (i > 0 && largest <= 2 * (rows - largest)) length = i + 1;
  }
  return length;
}

}  // namespace

std::optional<SegmentRun> worth_merging(std::span<const memory::SegmentUse> segments, std::int64_t K) {
  std::int64_t all = 0;
  for (const memory::SegmentUse& use : segments) all += most_rows(use);
  const std::int64_t most = std::min(kSegmentRows, std::max(2 * K, all / kMergedShare));
  for (std::size_t first = 0; first < segments.size(); ++first)
    if (const std::size_t count = run_length(segments.subspan(first), most)) return SegmentRun{first, count};
  return std::nullopt;
}

SegmentMerge::SegmentMerge(memory::LongTermStore store, const memory::Layout& layout, SegmentRun run,
                           std::filesystem::path path)
    : store_(std::move(store)),
      layout_(layout),
      run_(run),
      path_(std::move(path)),
      thread_([this](const std::stop_token& stop) { write(stop); }) {}

SegmentMerge::~SegmentMerge() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  std::error_code ignored;
  if (merged_) std::filesystem::remove(path_, ignored);
}

// A failure is nobody's: the segments stay as they are, and damage in them is found by whoever needs the
// rows.
void SegmentMerge::write(const std::stop_token& stop) noexcept {
  try {
    const std::vector<memory::Rows> rows = store_.gather(layout_, run_.first, run_.count, 0, kSegmentRows);
    if (stop.stop_requested()) return;
    const SegmentFile file = write_segment(path_, layout_, rows);
    merged_ = Merged{run_, {}, file};
    merged_->by = open_segment(path_, layout_, file);
  } catch (const std::exception&) {
    if (!merged_) return;
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
    merged_.reset();
  }
}

std::optional<std::size_t> SegmentMerge::place_in(const memory::LongTermStore& now) const {
  const auto& theirs = now.segments();
  const auto mine = std::span(store_.segments()).subspan(run_.first, run_.count);
  const auto found = std::search(theirs.begin(), theirs.end(), mine.begin(), mine.end(),
                                 [](const auto& a, const auto& b) { return a.segment == b.segment; });
  if (found == theirs.end()) return std::nullopt;
  for (std::int64_t layer = 0; layer < layout_.layers; ++layer) {
    std::int64_t alive = 0;
    for (std::size_t s = 0; s < mine.size(); ++s) {
      const memory::SegmentUse& use = found[static_cast<std::ptrdiff_t>(s)];
      for (std::int64_t r = 0; r < use.used[static_cast<std::size_t>(layer)]; ++r)
        alive += now.alive(layer, use, r) ? 1 : 0;
    }
    if (alive != merged_->by.rows[static_cast<std::size_t>(layer)]) return std::nullopt;
  }
  return static_cast<std::size_t>(found - theirs.begin());
}

std::optional<SegmentMerge::Merged> SegmentMerge::take(const memory::LongTermStore& now) {
  thread_.join();
  if (!merged_) return std::nullopt;
  const std::optional<std::size_t> place = place_in(now);
  if (!place) return std::nullopt;
  merged_->place.first = *place;
  return std::exchange(merged_, std::nullopt);
}

}  // namespace mplus::store
