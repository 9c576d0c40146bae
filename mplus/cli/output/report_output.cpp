#include "mplus/cli/output/report_output.h"

#include <fmt/core.h>

#include <algorithm>

#include "mplus/cli/output/progress_bar.h"

namespace mplus::cli {
namespace {

constexpr int kLongestCell = 64;

// "size_bytes" → "size", since the value is written with its unit.
std::string title(const std::string& key) {
  std::string text = key.ends_with("_bytes") ? key.substr(0, key.size() - 6) : key;
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string value_text(const std::string& key, const Json& value) {
  if (value.is_string()) return one_line(value.get<std::string>(), 1000);
  if (value.is_null()) return "unknown";
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number() && key.ends_with("_bytes")) return size_text(value.get<double>());
  if (value.is_number_integer() && key != "seed" && key != "version")
    return count_text(value.get<std::int64_t>());
  if (value.is_number_float()) return fmt::format("{:.6g}", value.get<double>());
  if (!value.is_array()) return value.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string list;
  for (const Json& item : value) list.append(list.empty() ? "" : ", ").append(value_text(key, item));
  return list;
}

bool is_table(const Json& value) { return value.is_array() && !value.empty() && value.front().is_object(); }

std::string table_text(const Json& rows) {
  std::vector<std::vector<std::string>> cells(1);
  for (const auto& [key, ignored] : rows.front().items()) cells[0].push_back(title(key));
  for (const Json& row : rows) {
    cells.emplace_back();
    for (const auto& [key, value] : row.items())
      cells.back().push_back(one_line(value_text(key, value), kLongestCell));
  }
  std::vector<int> widths(cells[0].size(), 0);
  for (const auto& row : cells)
    for (std::size_t c = 0; c < row.size() && c < widths.size(); ++c)
      widths[c] = std::max(widths[c], columns(row[c]));
  std::string text;
  for (const auto& row : cells) {
    std::string line = " ";
    for (std::size_t c = 0; c < row.size() && c < widths.size(); ++c)
      line += " " + row[c] + std::string(static_cast<std::size_t>(widths[c] - columns(row[c]) + 1), ' ');
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace

std::string report_text(const Json& report, const Terminal& terminal) {
  int width = 0;
  for (const auto& [key, value] : report.items())
    if (!value.is_object() && !is_table(value)) width = std::max(width, columns(title(key)));
  std::string text;
  for (const auto& [key, value] : report.items()) {
    const std::string name = terminal.styled(Style::bold, title(key));
    if (is_table(value)) {
      text += fmt::format("{}\n{}", name, table_text(value));
    } else if (value.is_object()) {
      text += name + "\n";
      for (const auto& [inner, field] : value.items())
        text += fmt::format("  {:<22} {}\n", one_line(inner, 40),
                            one_line(value_text(inner, field), terminal.width - 26));
    } else {
      const int room = width - columns(title(key)) + 2;
      text += fmt::format("{}{:{}}{}\n", name, "", room, value_text(key, value));
    }
  }
  return text;
}

}  // namespace mplus::cli
