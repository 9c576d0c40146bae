// States of a session: which files they are made of, when they are saved, how long they are kept.
#include <algorithm>
#include <random>

#include "mplus/core/error.h"
#include "mplus/core/file.h"
#include "mplus/store/database/row_sum.h"
#include "mplus/store/stored_session.h"

namespace mplus::store {
namespace {

constexpr int kMostStates = 2;
// The state before still uses what was merged, so for a while rows are there twice: at most one in so many,
// or twice those of an update.
constexpr std::int64_t kMergedShare = 24;

std::string new_file_name(std::int64_t session) {
  std::random_device random;  // names are never used twice, also not by processes that died
  const std::uint64_t number = (std::uint64_t{random()} << 32) | random();
  return fmt::format("{}-{:016x}.safetensors", session, number);
}

std::int64_t most_rows(const memory::SegmentUse& use) {
  return *std::max_element(use.used.begin(), use.used.end());
}

}  // namespace

void check_state_row(const StateRow& row, const std::filesystem::path& path) {
  if (!row.sound) fail(ErrorCode::corrupt, "{}: its row in the database is damaged", path.string());
  const auto map = MappedFile::open(path);
  if (std::ssize(map->bytes()) != row.size)
    fail(ErrorCode::corrupt, "{}: {} bytes expected, {} found", path.string(), row.size, map->bytes().size());
  if (const std::string found = header_checksum(path); !row.header.empty() && found != row.header)
    fail(ErrorCode::corrupt, "{}: header checksum {} expected, {} found: the file is damaged", path.string(),
         row.header, found);
}

// Small segments in files, which short sessions leave, are written again together with what comes behind
// them, while that is not much more work than writing the new rows, each row a few times at most, and a small
// part of all rows: a session that was written in many pieces is hardly larger than one written at once.
std::size_t StoredSession::with_small_neighbours(std::size_t first, std::size_t end) const {
  const auto& segments = session_->memory().long_term().segments();
  std::int64_t rows = 0, all = 0;
  for (std::size_t s = first; s < end; ++s) rows += most_rows(segments[s]);
  for (const memory::SegmentUse& use : segments) all += most_rows(use);
  const std::int64_t most = std::min(kSegmentRows, std::max(2 * engine_->layout().K, all / kMergedShare));
  while (first > 0) {
    const std::int64_t before = most_rows(segments[first - 1]);
    if (before > 2 * rows || before + rows > most) break;
    if (segments[first - 1].segment->format() != segments[end - 1].segment->format()) break;
    rows += before;
    --first;
  }
  return first;
}

std::vector<StoredSession::NewState::Use> StoredSession::write_segments() {
  const memory::Layout& layout = engine_->layout();
  SavedSegments written;
  const auto& segments = session_->memory().long_term().segments();
  for (std::size_t end = segments.size(); end > 0;) {  // runs of segments that no file holds, the last first
    if (saved_.count(segments[end - 1].segment) > 0) {
      --end;
      continue;
    }
    std::size_t first = end - 1;
    while (first > 0 && saved_.count(segments[first - 1].segment) == 0 &&
           segments[first - 1].segment->format() == segments[end - 1].segment->format())
      --first;
    first = with_small_neighbours(first, end);
    std::vector<memory::LongTermStore::Replacement> by;
    for (std::int64_t begin = 0;; begin += kSegmentRows) {
      const auto rows =
          session_->memory().long_term().gather(layout, first, end - first, begin, kSegmentRows);
      if (std::all_of(rows.begin(), rows.end(), [](const memory::Rows& r) { return r.size() == 0; })) break;
      const auto path = store_->segment_path(new_file_name(info_.id));
      const SegmentFile file = write_segment(path, layout, rows);
      by.push_back(open_segment(path, layout, file));
      written.emplace(by.back().segment, SegmentRow{0, file});
    }
    session_->replace_segments(first, end - first, std::move(by));
    end = first;
  }
  std::vector<NewState::Use> uses;
  for (const memory::SegmentUse& use : segments) {
    const auto at = saved_.find(use.segment);
    uses.push_back({use.segment, at != saved_.end() ? at->second : written.at(use.segment)});
  }
  return uses;
}

StoredSession::NewState StoredSession::write_state_files() {
  NewState fresh;
  fresh.before = store_->own_files(info_.id);
  fresh.segments = write_segments();
  fresh.file = new_file_name(info_.id);
  std::vector<SegmentRow> rows;
  for (const NewState::Use& use : fresh.segments) rows.push_back(use.row);
  session_->save_state(store_->state_path(fresh.file),
                       {.metadata = {{"session", info_.name},
                                     {"event", std::to_string(position_)},
                                     {"token", std::to_string(position_token_)},
                                     {"sources", std::to_string(source_ids_.size())},
                                     {"segments", segment_list(rows)}},
                        .integers = {{"source_ids", source_ids_}}});
  fresh.size = static_cast<std::int64_t>(std::filesystem::file_size(store_->state_path(fresh.file)));
  fresh.header = header_checksum(store_->state_path(fresh.file));
  return fresh;
}

void StoredSession::insert_state(NewState& fresh, bool pinned) {
  Database& database = store_->database();
  database
      .prepare(
          "INSERT INTO states (session, file, size, at, event, token, updates, pinned, header) VALUES "
          "(?,?,?,?,?,?,?,?,?)")
      .bind(info_.id)
      .bind(fresh.file)
      .bind(fresh.size)
      .bind(now_after(0))
      .bind(position_)
      .bind(position_token_)
      .bind(session_->memory().updates())
      .bind(std::int64_t{pinned})
      .bind(fresh.header)
      .run();
  const std::int64_t state = database.last_row();
  database.prepare(fmt::format("UPDATE states SET checksum = {} WHERE id = ?", kStateSum)).bind(state).run();
  std::int64_t place = 0;
  for (NewState::Use& use : fresh.segments) {
    if (use.row.id == 0) {
      database.prepare("INSERT INTO segments (file, size, header) VALUES (?,?,?)")
          .bind(use.row.file.file)
          .bind(use.row.file.size)
          .bind(use.row.file.header)
          .run();
      use.row.id = database.last_row();
    }
    database.prepare("INSERT INTO state_segments (state, place, segment) VALUES (?,?,?)")
        .bind(state)
        .bind(place++)
        .bind(use.row.id)
        .run();
  }
}

void StoredSession::finish_state(const NewState& fresh) {
  saved_.clear();
  for (const NewState::Use& use : fresh.segments) saved_.emplace(use.segment, use.row);
  state_position_ = position_;
  state_updates_ = session_->memory().updates();
  turns_since_state_ = 0;
  store_->remove_unnamed(fresh.before);
  store_->remove_loose_files(info_.id);
}

// The newest two stay: should one be damaged, or the last turn be undone. Undoing more than that replays the
// journal, and older states would cost as much disk as thousands of tokens.
void StoredSession::drop_old_states() {
  int kept = 0;
  for (const StateRow& row : store_->states(info_.id)) {
    if (row.pinned || !row.sound) continue;  // whether a damaged row is pinned is not known
    if (++kept > kMostStates)
      store_->database().prepare("DELETE FROM states WHERE id = ?").bind(row.id).run();
  }
  store_->release_segments();
}

void StoredSession::save_state() {
  require_writer();
  NewState fresh = write_state_files();
  Transaction transaction(store_->database(), durability());
  insert_state(fresh, false);
  drop_old_states();
  transaction.commit();
  finish_state(fresh);
}

}  // namespace mplus::store
