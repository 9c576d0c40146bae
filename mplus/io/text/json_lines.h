// A file of JSON objects, one a line, plain or compressed with xz or zstd (told by its first bytes, whatever
// it is called). Every error names file and line. Empty lines are passed over.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "mplus/io/text/json.h"

namespace mplus::io {

class UnpackedFile;

class JsonLines {
 public:
  explicit JsonLines(std::filesystem::path file);
  ~JsonLines();
  JsonLines(const JsonLines&) = delete;
  JsonLines& operator=(const JsonLines&) = delete;

  bool next(Json& object);            // the next object; false at the end
  bool next_line(std::string& line);  // the next line as it stands, for those who parse it themselves
  std::int64_t line() const { return line_; }  // of what was last read, from 1
  std::string where() const;                   // "file:line"

 private:
  bool any_line(std::string& line);  // also an empty one

  std::filesystem::path file_;
  std::unique_ptr<UnpackedFile> bytes_;
  std::string buffer_;
  std::size_t at_ = 0;
  std::int64_t line_ = 0;
};

}  // namespace mplus::io
