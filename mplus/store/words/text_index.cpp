#include "mplus/store/words/text_index.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "mplus/core/error.h"
#include "mplus/engine/answer/reread.h"
#include "mplus/io/text/hash.h"
#include "mplus/store/words/word_split.h"

namespace mplus::store {
namespace {

constexpr std::size_t kMostWords = 1024;  // of a question; a longer one is asked by its first
constexpr std::size_t kMostPairs = 64;
constexpr double kPairWeight = 0.5;
constexpr std::int64_t kSeldom = 10, kFewChunks = 3;  // in at most one chunk of ten, or in few

// Like a transaction, but also inside of one.
class Savepoint {
 public:
  explicit Savepoint(Database& database) : database_(&database) { database.execute("SAVEPOINT text_index"); }
  ~Savepoint() {
    if (!open_) return;
    try {
      database_->execute("ROLLBACK TO text_index; RELEASE text_index");
    } catch (const Error&) {  // SQLite rolled back by itself (disk full, I/O error)
    }
  }
  Savepoint(const Savepoint&) = delete;
  Savepoint& operator=(const Savepoint&) = delete;
  void commit() {
    database_->execute("RELEASE text_index");
    open_ = false;
  }

 private:
  Database* database_;
  bool open_ = true;
};

std::string table_of(std::int64_t session) { return fmt::format("words_{}", session); }

bool has_table(Database& database, std::string_view name) {
  return database.prepare("SELECT 1 FROM sqlite_schema WHERE name = ?").bind(name).step();
}

std::int64_t fingerprint(std::string_view text) {
  return static_cast<std::int64_t>(io::xxh3(std::as_bytes(std::span(text))));
}

}  // namespace

TextIndex::TextIndex()
    : own_(std::make_unique<Database>(":memory:")), database_(own_.get()), session_(0), table_(table_of(0)) {
  create();
}

TextIndex::TextIndex(Database& database, std::int64_t session)
    : database_(&database), session_(session), table_(table_of(session)) {
  create();
}

void TextIndex::create() {
  database_->execute("PRAGMA secure_delete = ON");  // what is removed is to be gone from the file
  if (exists(*database_, session_)) return;
  Savepoint all(*database_);
  // Which chunks there are, and a fingerprint of their text.
  database_->execute(
      "CREATE TABLE IF NOT EXISTS word_chunks (session INTEGER NOT NULL, chunk INTEGER NOT NULL, fingerprint "
      "INTEGER NOT NULL, PRIMARY KEY (session, chunk)) WITHOUT ROWID");
  database_->execute(fmt::format(
      "CREATE VIRTUAL TABLE {} USING fts5(text, tokenize = 'unicode61 remove_diacritics 2')", table_));
  all.commit();
}

bool TextIndex::exists(Database& database, std::int64_t session) {
  return has_table(database, table_of(session));
}

void TextIndex::drop(Database& database, std::int64_t session) {
  database.execute("PRAGMA secure_delete = ON");
  database.execute(fmt::format("DROP TABLE IF EXISTS {}", table_of(session)));
  for (const char* table : {"word_chunks", "word_places"})
    if (has_table(database, table))
      database.prepare(fmt::format("DELETE FROM {} WHERE session = ?", table)).bind(session).run();
}

void TextIndex::insert(std::int64_t chunk, const std::string& form) {
  database_->prepare(fmt::format("INSERT INTO {} (rowid, text) VALUES (?, ?)", table_))
      .bind(chunk)
      .bind(form)
      .run();
}

void TextIndex::erase(std::int64_t chunk) {
  database_->prepare(fmt::format("DELETE FROM {} WHERE rowid = ?", table_)).bind(chunk).run();
  database_->prepare("DELETE FROM word_chunks WHERE session = ? AND chunk = ?")
      .bind(session_)
      .bind(chunk)
      .run();
}

// A deleted row's words stay in the index's pages beside a mark that they no longer count. Made anew from the
// rows that are left, they are gone.
void TextIndex::rebuild() {
  database_->execute(fmt::format("INSERT INTO {0} ({0}) VALUES ('rebuild')", table_));
}

void TextIndex::add(std::int64_t chunk, std::string_view text) {
  Savepoint all(*database_);
  auto known = database_->prepare("SELECT 1 FROM word_chunks WHERE session = ? AND chunk = ?");
  const bool replaces = known.bind(session_).bind(chunk).step();
  known.reset();
  if (replaces) {
    erase(chunk);
    rebuild();
  }
  if (const std::string form = indexed_form(text); !form.empty()) {
    insert(chunk, form);
    database_->prepare("INSERT INTO word_chunks VALUES (?, ?, ?)")
        .bind(session_)
        .bind(chunk)
        .bind(fingerprint(text))
        .run();
  }
  all.commit();
}

void TextIndex::remove(const std::vector<std::int64_t>& chunks) {
  if (chunks.empty()) return;
  Savepoint all(*database_);
  for (const std::int64_t chunk : chunks) erase(chunk);
  rebuild();
  all.commit();
}

void TextIndex::clear() {
  Savepoint all(*database_);
  drop(*database_, session_);
  all.commit();
  create();
}

std::unordered_map<std::int64_t, std::int64_t> TextIndex::fingerprints() const {
  std::unordered_map<std::int64_t, std::int64_t> known;
  auto rows = database_->prepare("SELECT chunk, fingerprint FROM word_chunks WHERE session = ?");
  rows.bind(session_);
  while (rows.step()) known.emplace(rows.integer(0), rows.integer(1));
  return known;
}

std::vector<std::int64_t> TextIndex::chunks() const {
  std::vector<std::int64_t> chunks;
  for (const auto& [chunk, print] : fingerprints()) chunks.push_back(chunk);
  std::sort(chunks.begin(), chunks.end());
  return chunks;
}

std::unordered_map<std::int64_t, double> TextIndex::query(std::string_view text) const {
  auto scores = bm25(question_words(text, kMostWords));
  if (scores.empty()) return scores;
  for (const auto& [chunk, score] : bm25(seldom_pairs(text))) scores[chunk] += kPairWeight * score;
  return scores;
}

std::unordered_map<std::int64_t, double> TextIndex::bm25(const std::vector<std::string>& terms) const {
  std::unordered_map<std::int64_t, double> scores;
  std::string match;  // "one" OR "two three": quoted, a word is nothing but a word
  for (const std::string& term : terms) match += fmt::format("{}\"{}\"", match.empty() ? "" : " OR ", term);
  if (match.empty()) return scores;
  auto rows = database_->prepare(fmt::format("SELECT rowid, bm25({0}) FROM {0} WHERE {0} MATCH ?", table_));
  rows.bind(match);
  while (rows.step()) scores.emplace(rows.integer(0), -rows.real(1));  // SQLite's best is the most negative
  return scores;
}

std::vector<std::string> TextIndex::seldom_pairs(std::string_view text) const {
  auto all = database_->prepare("SELECT count(*) FROM word_chunks WHERE session = ?");
  all.bind(session_).step();
  const std::int64_t most = std::max(kFewChunks, all.integer(0) / kSeldom);
  auto holding = database_->prepare(
      fmt::format("SELECT count(*) FROM (SELECT 1 FROM {0} WHERE {0} MATCH ? LIMIT ?)", table_));
  std::unordered_map<std::string, bool> known;
  const auto is_seldom = [&](const std::string& word) {
    const auto [at, is_new] = known.try_emplace(word);
    if (is_new) {
      holding.reset();
      holding.bind(fmt::format("\"{}\"", word)).bind(most + 1).step();
      at->second = holding.integer(0) <= most;
    }
    return at->second;
  };
  std::vector<std::string> pairs;
  for (const auto& [one, next] : question_pairs(text, kMostPairs))
    if (is_seldom(one) && is_seldom(next)) pairs.push_back(fmt::format("{} {}", one, next));
  return pairs;
}

std::vector<TextIndex::Change> TextIndex::changes(const engine::Record& record) const {
  std::vector<Change> found;
  auto known = fingerprints();
  for (std::int64_t update = 0; update < record.updates(); ++update) {
    std::string text = engine::chunk_text(record, update);
    const auto at = known.find(update);
    const bool there = at != known.end();
    const bool same = there ? at->second == fingerprint(text) : indexed_form(text).empty();
    if (there) known.erase(at);
    if (!same) found.push_back({update, std::move(text), there});
  }
  for (const auto& [chunk, print] : known) found.push_back({chunk, "", true});  // of updates that are no more
  return found;
}

std::int64_t TextIndex::follow(const engine::Record& record) {
  const std::vector<Change> found = changes(record);
  if (found.empty()) return 0;
  Savepoint all(*database_);
  std::vector<std::int64_t> gone;
  for (const Change& change : found)
    if (change.known) gone.push_back(change.chunk);
  remove(gone);
  for (const Change& change : found) add(change.chunk, change.text);
  all.commit();
  return static_cast<std::int64_t>(found.size());
}

void TextIndex::follow_newest(const engine::Record& record) {
  auto newest = database_->prepare("SELECT ifnull(max(chunk), -1) FROM word_chunks WHERE session = ?");
  newest.bind(session_).step();
  const std::int64_t known = newest.integer(0);
  newest.reset();
  for (std::int64_t update = known + 1; update < record.updates(); ++update)
    add(update, engine::chunk_text(record, update));
}

void TextIndex::check() const {
  if (database_->read_only()) {  // asking FTS5 to check is a command to write
    Database copy(":memory:");
    copy_database(*database_, copy);
    return TextIndex(copy, session_).check();
  }
  database_->execute(fmt::format("INSERT INTO {0} ({0}) VALUES ('integrity-check')", table_));
  auto strays = database_->prepare(
      fmt::format("SELECT count(*) FROM (SELECT rowid AS chunk FROM {0} EXCEPT SELECT chunk FROM word_chunks "
                  "WHERE session = ?1) UNION ALL SELECT count(*) FROM (SELECT chunk FROM word_chunks WHERE "
                  "session = ?1 EXCEPT SELECT rowid FROM {0})",
                  table_));
  strays.bind(session_);
  while (strays.step())
    if (strays.integer(0) > 0)
      fail(ErrorCode::corrupt, "{}: text index of session {}: {} chunks do not match their list",
           database_->file().string(), session_, strays.integer(0));
}

std::vector<std::int64_t> TextIndex::differences(const engine::Record& record) const {
  std::vector<std::int64_t> chunks;
  for (const Change& change : changes(record)) chunks.push_back(change.chunk);
  std::sort(chunks.begin(), chunks.end());
  return chunks;
}

void TextIndex::stands_at(const Place& place) {
  database_->execute(
      "CREATE TABLE IF NOT EXISTS word_places (session INTEGER PRIMARY KEY, event INTEGER NOT NULL, token "
      "INTEGER NOT NULL)");
  database_->prepare("INSERT OR REPLACE INTO word_places VALUES (?, ?, ?)")
      .bind(session_)
      .bind(place.event)
      .bind(place.token)
      .run();
}

bool TextIndex::is_at(const Place& place) const {
  if (!has_table(*database_, "word_places")) return false;  // written by an older program
  auto row = database_->prepare("SELECT 1 FROM word_places WHERE session = ? AND event = ? AND token = ?");
  return row.bind(session_).bind(place.event).bind(place.token).step();
}

void TextIndex::serve(engine::GenerateOptions& options, const std::function<void()>& before_asking) {
  options.words = [this, before_asking](std::string_view question) -> memory::Prior {
    using Scores = std::optional<std::unordered_map<std::int64_t, double>>;
    return [this, before_asking, text = std::string(question),
            scores = std::make_shared<Scores>()](std::int64_t chunk) {
      if (!*scores) {
        before_asking();
        *scores = query(text);
      }
      const auto at = (*scores)->find(chunk);
      return at == (*scores)->end() ? 0.0 : at->second;
    };
  };
}

void TextIndex::serve(engine::GenerateOptions& options) {
  serve(options, [] {});
}

void TextIndex::serve(engine::GenerateOptions& options, const engine::Record& record) {
  serve(options, [this, &record] { follow(record); });
}

}  // namespace mplus::store
