// A file of JSON objects, one a line, plain or xz-compressed (told by its first bytes, whatever it is
// called). Every error names file and line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "mplus/io/json.h"

namespace mplus::eval {

class JsonLines {
 public:
  explicit JsonLines(std::filesystem::path file);
  ~JsonLines();
  JsonLines(const JsonLines&) = delete;
  JsonLines& operator=(const JsonLines&) = delete;

  bool next(io::Json& object);  // the next object; false at the end. Empty lines are passed over.
  std::int64_t line() const { return line_; }  // of the object last read, from 1
  std::string where() const;                   // "file:line"

 private:
  class Bytes;
  bool next_line(std::string& line);

  std::filesystem::path file_;
  std::unique_ptr<Bytes> bytes_;
  std::string buffer_;
  std::size_t at_ = 0;
  std::int64_t line_ = 0;
};

}  // namespace mplus::eval
