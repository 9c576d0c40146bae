// SQLite with errors as exceptions and statements as values. A Database belongs to one thread at a time; its
// statements must not outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace mplus::store {

class Database;

// A prepared statement: bind in order, step through rows, read columns by number. Values are copied in.
class Statement {
 public:
  Statement(Database& database, std::string_view sql);

  Statement& bind(std::int64_t value);
  Statement& bind(double value);
  Statement& bind(std::string_view text);
  Statement& bind(const char* text) { return bind(std::string_view(text)); }
  Statement& bind(const std::string& text) { return bind(std::string_view(text)); }
  Statement& bind(std::span<const std::byte> blob);
  Statement& bind(std::nullptr_t);
  template <class T>
  Statement& bind(const std::optional<T>& value) {
    return value ? bind(*value) : bind(nullptr);
  }

  bool step();   // true: there is a row
  void run();    // for statements without rows: steps to the end, then is ready to be bound again
  void reset();  // ready to be bound and run again

  bool is_null(int column) const;
  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;
  std::span<const std::byte> blob(int column) const;  // valid until the next step or reset

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  void check(int code) const;

  Database* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bound_ = 0;
};

// What a commit outlives.
enum class Durability {
  machine,  // the machine's failure, too
  process,  // this process: the operating system writes it soon
};

inline constexpr int kBusyMilliseconds = 10'000;  // how long another process's commit is waited for

class Database {
 public:
  enum class Access {
    read_write,
    read_only,  // needs the files -wal and -shm beside it where they hold something
    // Read only, without locks, from nothing but the file itself. It must not be changed meanwhile: once it
    // was, every statement throws io.
    immutable,
  };

  // Opens or, with read_write, creates. ":memory:" is a database of this process. Other writers are waited
  // for.
  explicit Database(const std::filesystem::path& file, Access access = Access::read_write);

  void execute(const std::string& sql);  // statements without parameters
  Statement prepare(std::string_view sql) { return {*this, sql}; }
  // A value asked for with one statement without parameters.
  std::int64_t integer(std::string_view sql);
  std::string text(std::string_view sql);
  std::int64_t last_row() const;  // id of the row inserted last
  std::int64_t changes() const;   // rows changed by the statement run last
  bool read_only() const;
  void require_unchanged() const;  // throws io where somebody has written to a file that was to be immutable
  void set_durability(Durability durability);  // of the next transaction
  void wait_at_most(int milliseconds);         // for other processes; kBusyMilliseconds unless set
  // Told of every commit: the seconds it took.
  void observe_commits(std::function<void(double)> told) { on_commit_ = std::move(told); }

  // Pages that were met and are not what was written (page_check.h). While there are some, nothing is
  // committed.
  std::set<std::int64_t> damaged_pages() const;
  std::string damage_text() const;  // "page 7 is damaged", for people; empty: none was met

  const std::filesystem::path& file() const { return file_; }
  sqlite3* handle() const { return handle_.get(); }
  // Throws Error for an SQLite result code: what went wrong, in which file, what to do.
  [[noreturn]] void fail_with(int code, std::string_view doing) const;

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  struct FileVersion {  // of a file: another one after every write
    std::uint64_t inode = 0;
    std::int64_t size = 0, seconds = 0, nanoseconds = 0;
    bool operator==(const FileVersion&) const = default;
  };
  static FileVersion file_version(const std::filesystem::path& file);
  static FileVersion settled_version(const std::filesystem::path& file);

  std::filesystem::path file_;
  std::optional<FileVersion> version_;  // immutable: as it was opened
  std::unique_ptr<sqlite3, Close> handle_;
  Durability durability_ = Durability::machine;
  std::function<void(double)> on_commit_ = {};
  friend class Transaction;
};

// All of a database as it is now, whatever others write to it meanwhile; `to` is empty, or becomes the same.
void copy_database(Database& from, Database& to);

bool disk_is_full(const std::filesystem::path& folder);  // no room for the log of a small transaction

// BEGIN IMMEDIATE … COMMIT; without commit() everything is as before. How long it lasts is its own matter:
// sessions that share a connection may want different things.
class Transaction {
 public:
  explicit Transaction(Database& database, Durability durability = Durability::machine);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Database* database_;
  bool open_ = true;
};

}  // namespace mplus::store
