// How far a session had come when a change to it was last acknowledged: a small file beside the database,
// written after every commit. A database that is behind its mark has lost something: its write-ahead log is
// gone or damaged, or it was put back from an older copy.
//
// The file has two records, written in turn, so that a machine that stops while one is written leaves the
// other.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace mplus::store {

struct Mark {
  std::int64_t session = 0;
  std::string name;                    // of the session, for people
  std::int64_t event = -1, token = 0;  // the last event, and of its text the tokens taken in
  std::int64_t checksum = 0;           // of that event's row
};

struct MarkFound {
  std::optional<Mark> mark;  // the newest sound record
  bool damaged = false;      // a record is not what was written
};

MarkFound read_mark(const std::filesystem::path& file);
// `sync`: it survives the machine, not only this process. Throws io.
void write_mark(const std::filesystem::path& file, const Mark& mark, bool sync);

}  // namespace mplus::store
