#include "mplus/train/lessons/made/tables.h"

#include "mplus/core/error.h"
#include "mplus/core/text.h"

namespace mplus::train::made {

void TableLine::refuse(std::string_view why) const {
  constexpr std::size_t kShown = 80;
  fail(ErrorCode::corrupt, "{}, line {}: {}: \"{}{}\"", table, number, why, text.substr(0, kShown),
       text.size() > kShown ? "…" : "");
}

Tables::Tables(std::span<const TableFile> files) {
  for (const TableFile& file : files) read(file);
}

const Tables& Tables::instance() {
  static const Tables tables(embedded_tables());
  return tables;
}

void Tables::read(const TableFile& file) {
  const auto [place, is_new] = tables_.try_emplace(file.name);
  if (!is_new) fail(ErrorCode::corrupt, "{}: two tables have this name", file.name);
  std::vector<TableLine>& lines = place->second;
  std::string_view rest = file.text;
  for (int number = 1; !rest.empty(); ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const TableLine line{trim(rest.substr(0, end)), file.name, number};
    const bool goes_on = rest.front() == ' ';
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.text.empty() || line.text.starts_with("//")) continue;
    if (!goes_on) {
      lines.push_back(line);
    } else if (lines.empty()) {
      line.refuse("nothing stands before a line that begins with a space");
    } else {
      std::string joined(lines.back().text);
      joined += ' ';
      joined += line.text;
      lines.back().text = texts_.emplace_back(std::move(joined));
    }
  }
}

const std::vector<TableLine>& Tables::lines(std::string_view table) const {
  const auto found = tables_.find(table);
  if (found == tables_.end())
    fail(ErrorCode::not_found, "no table is called {}; is it in lessons/made/tables and in CMakeLists.txt?",
         table);
  return found->second;
}

std::vector<WordList> Tables::word_lists(std::string_view table) const {
  std::vector<WordList> lists;
  for (const TableLine& line : lines(table)) {
    const std::size_t colon = line.text.find(": ");
    if (colon == line.text.npos || colon == 0) line.refuse("expected \"name: item, item, …\"");
    lists.push_back({line, line.text.substr(0, colon), line.text.substr(colon + 2)});
  }
  return lists;
}

std::vector<std::string_view> Tables::frames(std::string_view table) const {
  constexpr std::string_view kGap = "{}";
  std::vector<std::string_view> frames;
  for (const TableLine& line : lines(table)) {
    const std::size_t gap = line.text.find(kGap);
    if (gap == line.text.npos || line.text.find(kGap, gap + kGap.size()) != line.text.npos)
      line.refuse("expected one {}");
    frames.push_back(line.text);
  }
  return frames;
}

}  // namespace mplus::train::made
