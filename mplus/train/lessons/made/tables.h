// What made-up facts are made of: the files of tables/, compiled into the library, so that a program needs no
// path. patterns.h and kinds.h say what their lines mean. In every table a line that begins with a space goes
// on with the one before, "//" begins a comment, and empty lines do not count.
#pragma once

#include <deque>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mplus::train::made {

struct TableFile {
  std::string_view name;  // words.txt
  std::string_view text;
};
std::span<const TableFile> embedded_tables();  // written by embed_tables.cmake

struct TableLine {
  std::string_view text;  // with the lines that go on with it
  std::string_view table;
  int number = 0;  // in the file, from 1

  [[noreturn]] void refuse(std::string_view why) const;  // throws Error: table, line, why, the text
};

struct WordList {
  TableLine line;
  std::string_view name, items;  // "name: item, item, …"
};

// Lines stay where they are as long as the tables live. Throws Error where a file is listed twice or is not
// written as it should be.
class Tables {
 public:
  explicit Tables(std::span<const TableFile> files);
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;
  static const Tables& instance();  // the embedded ones

  const std::vector<TableLine>& lines(std::string_view table) const;
  std::vector<WordList> word_lists(std::string_view table) const;      // names are not checked against others
  std::vector<std::string_view> frames(std::string_view table) const;  // lines with one {}

 private:
  void read(const TableFile& file);

  std::deque<std::string> texts_;  // lines that were joined
  std::map<std::string_view, std::vector<TableLine>> tables_;
};

}  // namespace mplus::train::made
