// States of a session: which files they are made of, when they are saved, how long they are kept.
#include <algorithm>
#include <random>
#include <span>
#include <system_error>
#include <utility>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/engine/files/session_file.h"
#include "mplus/store/database/row_sum.h"
#include "mplus/store/session/stored_session.h"

namespace mplus::store {
namespace {

constexpr int kMostStates = 2;

std::string new_file_name(std::int64_t session) {
  std::random_device random;  // names are never used twice, also not by processes that died
  const std::uint64_t number = (std::uint64_t{random()} << 32) | random();
  return fmt::format("{}-{:016x}.safetensors", session, number);
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

// A session that was written in many pieces is hardly larger than one written at once: its small segments are
// put together while it goes on.
void StoredSession::begin_merging() {
  if (!merge_is_due_ || merge_) return;
  merge_is_due_ = false;
  const memory::LongTermStore& store = session_->memory().long_term();
  const auto saved = std::span(store.segments()).first(saved_segments());
  const auto run = worth_merging(saved, engine_->layout().K);
  if (!run) return;
  try {
    merge_ = std::make_unique<SegmentMerge>(store, engine_->layout(), *run,
                                            store_->segment_path(new_file_name(info_.id)));
  } catch (const std::system_error&) {  // no thread was to be had; another time
  }
}

// How many of the first segments stand in files.
std::size_t StoredSession::saved_segments() const {
  const auto& segments = session_->memory().long_term().segments();
  const auto end = std::find_if(segments.begin(), segments.end(), [&](const memory::SegmentUse& use) {
    return saved_.count(use.segment) == 0;
  });
  return static_cast<std::size_t>(end - segments.begin());
}

void StoredSession::look_for_merges() {
  const auto saved = std::span(session_->memory().long_term().segments()).first(saved_segments());
  merge_is_due_ = worth_merging(saved, engine_->layout().K).has_value();
}

// What a merge has written takes the place of its segments.
StoredSession::SavedSegments StoredSession::take_merged() {
  SavedSegments written;
  if (const auto merge = std::exchange(merge_, nullptr)) {
    if (auto merged = merge->take(session_->memory().long_term())) {
      written.emplace(merged->by.segment, SegmentRow{0, merged->file});
      std::vector<memory::LongTermStore::Replacement> by;
      by.push_back(std::move(merged->by));
      session_->replace_segments(merged->place.first, merged->place.count, std::move(by));
    }
  }
  return written;
}

std::vector<StoredSession::NewState::Use> StoredSession::write_segments() {
  const memory::Layout& layout = engine_->layout();
  SavedSegments written = take_merged();
  const auto& segments = session_->memory().long_term().segments();
  const auto in_file = [&](std::size_t s) {
    return saved_.count(segments[s].segment) + written.count(segments[s].segment) > 0;
  };
  for (std::size_t end = segments.size(); end > 0;) {  // runs of segments that no file holds, the last first
    if (in_file(end - 1)) {
      --end;
      continue;
    }
    std::size_t first = end - 1;
    while (first > 0 && !in_file(first - 1) &&
           segments[first - 1].segment->format() == segments[end - 1].segment->format())
      --first;
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

StoredSession::NewState StoredSession::write_state_files(const io::StringMap& more_metadata) {
  NewState fresh;
  fresh.before = store_->own_files(info_.id);
  fresh.segments = write_segments();
  fresh.file = new_file_name(info_.id);
  std::vector<SegmentRow> rows;
  for (const NewState::Use& use : fresh.segments) rows.push_back(use.row);
  io::StringMap metadata{{"session", info_.name},
                         {"event", std::to_string(position_)},
                         {"token", std::to_string(position_token_)},
                         {"sources", std::to_string(source_ids_.size())},
                         {"segments", segment_list(rows)}};
  metadata.insert(more_metadata.begin(), more_metadata.end());
  save_state_file(*session_, store_->state_path(fresh.file),
                  {.metadata = std::move(metadata), .integers = {{"source_ids", source_ids_}}});
  fresh.size = static_cast<std::int64_t>(std::filesystem::file_size(store_->state_path(fresh.file)));
  fresh.header = header_checksum(store_->state_path(fresh.file));
  return fresh;
}

void StoredSession::insert_state(NewState& fresh, std::int64_t session, bool pinned) {
  Database& database = store_->database();
  database
      .prepare(
          "INSERT INTO states (session, file, size, at, event, token, updates, pinned, header) VALUES "
          "(?,?,?,?,?,?,?,?,?)")
      .bind(session)
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
  look_for_merges();
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
  insert_state(fresh, info_.id, false);
  drop_old_states();
  transaction.commit();
  finish_state(fresh);
}

}  // namespace mplus::store
