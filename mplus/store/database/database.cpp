#include "mplus/store/database/database.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <cctype>
#include <chrono>
#include <limits>
#include <thread>

#include "mplus/core/clock.h"
#include "mplus/core/error.h"
#include "mplus/store/database/page_check.h"
#include "mplus/store/database/row_sum.h"

namespace mplus::store {
namespace {

ErrorCode code_of(int sqlite_code) {
  switch (sqlite_code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
      return ErrorCode::corrupt;
    case SQLITE_TOOBIG:
      return ErrorCode::out_of_capacity;
    default:
      return ErrorCode::io;
  }
}

constexpr std::size_t kMostListed = 8;  // pages in a message

std::string immutable_name(const std::filesystem::path& file) {
  std::string name = "file:";
  for (const char c : std::filesystem::absolute(file).string()) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '/' || c == '.' || c == '-';
    name += plain ? std::string(1, c) : fmt::format("%{:02x}", static_cast<unsigned char>(c));
  }
  return name + "?immutable=1";
}

int refuse_on_damage(void* checks) {
  const auto* pages = static_cast<const PageChecks*>(checks);
  return pages && !pages->damaged.empty() && !pages->may_commit ? 1 : 0;
}

const char* advice(int sqlite_code) {
  switch (sqlite_code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return "; the database is damaged: `mplus session verify` says what is lost";
    case SQLITE_FULL:
      return "; the disk is full";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "; another process is using it";
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
      return "; is the folder writable?";
    default:
      return "";
  }
}

}  // namespace

void Database::Close::operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }

Database::FileVersion Database::file_version(const std::filesystem::path& file) {
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0) return {};
  return {.inode = info.st_ino,
          .size = info.st_size,
          .seconds = info.st_mtim.tv_sec,
          .nanoseconds = info.st_mtim.tv_nsec};
}

// A file system's clock ticks some hundred times a second: what was written a moment ago may be written to
// once more at the same tick. So a moment is waited.
Database::FileVersion Database::settled_version(const std::filesystem::path& file) {
  using namespace std::chrono;
  constexpr auto kTicks = milliseconds(30);
  const FileVersion version = file_version(file);
  const auto written = system_clock::time_point(
      seconds(version.seconds) + duration_cast<system_clock::duration>(nanoseconds(version.nanoseconds)));
  const auto age = system_clock::now() - written;
  if (age < seconds(0) || age > kTicks) return version;
  std::this_thread::sleep_for(kTicks);
  return file_version(file);
}

Database::Database(const std::filesystem::path& file, Access access) : file_(file) {
  if (access == Access::immutable) version_ = settled_version(file);
  const int flags =
      (access == Access::read_write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY) |
      (access == Access::immutable ? SQLITE_OPEN_URI : 0) | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  const std::string name = access == Access::immutable ? immutable_name(file) : file.string();
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &handle, flags, checking_vfs());
  handle_.reset(handle);
  if (code != SQLITE_OK) fail_with(code, "opening it");
  wait_at_most(kBusyMilliseconds);
  add_row_checksum(handle);
  sqlite3_commit_hook(handle, refuse_on_damage, page_checks(handle));
}

std::set<std::int64_t> Database::damaged_pages() const {
  const PageChecks* checks = page_checks(handle_.get());
  return checks ? checks->damaged : std::set<std::int64_t>{};
}

std::string Database::damage_text() const {
  const std::set<std::int64_t> pages = damaged_pages();
  if (pages.empty()) return "";
  std::string numbers;
  std::size_t listed = 0;
  for (std::int64_t page : pages)
    if (++listed <= kMostListed) numbers += fmt::format("{}{}", listed > 1 ? ", " : " ", page);
  return fmt::format("page{}{}{} of the database {} damaged", pages.size() > 1 ? "s" : "", numbers,
                     listed > kMostListed ? " …" : "", pages.size() > 1 ? "are" : "is");
}

void Database::fail_with(int code, std::string_view doing) const {
  if (code == SQLITE_CONSTRAINT_COMMITHOOK)
    fail(ErrorCode::corrupt, "{}: {}, so nothing is written to it; `mplus session verify` says what is lost",
         file_.string(), damage_text());
  const char* words = handle_ ? sqlite3_errmsg(handle_.get()) : sqlite3_errstr(code);
  fail(code_of(code), "{}: {}: {}{}", file_.string(), doing, words, advice(code));
}

void Database::execute(const std::string& sql) {
  const int code = sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail_with(code, sql.substr(0, 40));
}

std::int64_t Database::integer(std::string_view sql) {
  Statement statement(*this, sql);
  return statement.step() ? statement.integer(0) : 0;
}

std::string Database::text(std::string_view sql) {
  Statement statement(*this, sql);
  return statement.step() ? statement.text(0) : "";
}

void Database::wait_at_most(int milliseconds) { sqlite3_busy_timeout(handle_.get(), milliseconds); }

void Database::require_unchanged() const {
  if (version_ && *version_ != file_version(file_))
    fail(ErrorCode::io,
         "{}: was written to while it was read, and a reader that may not write here cannot keep others from "
         "it; run "
         "the command again",
         file_.string());
}

bool Database::read_only() const { return sqlite3_db_readonly(handle_.get(), "main") == 1; }

std::int64_t Database::last_row() const { return sqlite3_last_insert_rowid(handle_.get()); }
std::int64_t Database::changes() const { return sqlite3_changes64(handle_.get()); }

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Statement::Statement(Database& database, std::string_view sql) : database_(&database) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v2(database.handle(), sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  statement_.reset(statement);
  if (code != SQLITE_OK) database.fail_with(code, sql.substr(0, 40));
}

void Statement::check(int code) const {
  if (code != SQLITE_OK)
    database_->fail_with(code, std::string_view(sqlite3_sql(statement_.get())).substr(0, 40));
}

Statement& Statement::bind(std::int64_t value) {
  check(sqlite3_bind_int64(statement_.get(), ++bound_, value));
  return *this;
}

Statement& Statement::bind(double value) {
  check(sqlite3_bind_double(statement_.get(), ++bound_, value));
  return *this;
}

Statement& Statement::bind(std::string_view text) {
  check(sqlite3_bind_text64(statement_.get(), ++bound_, text.empty() ? "" : text.data(), text.size(),
                            SQLITE_TRANSIENT, SQLITE_UTF8));
  return *this;
}

Statement& Statement::bind(std::span<const std::byte> blob) {
  if (blob.empty()) {
    check(sqlite3_bind_zeroblob(statement_.get(), ++bound_, 0));
  } else {
    check(sqlite3_bind_blob64(statement_.get(), ++bound_, blob.data(), blob.size(), SQLITE_TRANSIENT));
  }
  return *this;
}

Statement& Statement::bind(std::nullptr_t) {
  check(sqlite3_bind_null(statement_.get(), ++bound_));
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(statement_.get());
  database_->require_unchanged();
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  database_->fail_with(code, std::string_view(sqlite3_sql(statement_.get())).substr(0, 40));
}

void Statement::run() {
  while (step()) {
  }
  reset();
}

void Statement::reset() {
  sqlite3_reset(statement_.get());  // its code repeats step()'s, which was thrown already
  sqlite3_clear_bindings(statement_.get());
  bound_ = 0;
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}
std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }
double Statement::real(int column) const { return sqlite3_column_double(statement_.get(), column); }

std::string Statement::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  return text ? std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column)))
              : "";
}

std::span<const std::byte> Statement::blob(int column) const {
  const auto* data = static_cast<const std::byte*>(sqlite3_column_blob(statement_.get(), column));
  return {data, data ? static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column)) : 0};
}

void copy_database(Database& from, Database& to) {
  sqlite3_backup* backup = sqlite3_backup_init(to.handle(), "main", from.handle(), "main");
  if (!backup) to.fail_with(sqlite3_errcode(to.handle()), "copying to it");
  // In one step: a single read of the source, so that it all belongs together.
  const int code = sqlite3_backup_step(backup, -1);
  const int end = sqlite3_backup_finish(backup);
  from.require_unchanged();
  if (code != SQLITE_DONE || end != SQLITE_OK)
    to.fail_with(code != SQLITE_DONE ? code : end, "copying to it");
}

bool disk_is_full(const std::filesystem::path& folder) {
  constexpr std::uintmax_t kLeastRoom = 256 * 1024;
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  return !error && space.available < kLeastRoom;
}

void Database::set_durability(Durability durability) {
  if (durability == durability_) return;
  execute(durability == Durability::process ? "PRAGMA synchronous = NORMAL" : "PRAGMA synchronous = FULL");
  durability_ = durability;
}

Transaction::Transaction(Database& database, Durability durability) : database_(&database) {
  database.set_durability(durability);
  database.execute("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  if (!open_) return;
  try {
    database_->execute("ROLLBACK");
  } catch (const Error&) {  // SQLite rolled back by itself (disk full, I/O error)
  }
}

void Transaction::commit() {
  const auto began = Clock::now();
  database_->execute("COMMIT");
  open_ = false;
  if (database_->on_commit_) database_->on_commit_(seconds_since(began));
}

}  // namespace mplus::store
