// Tables of the mixed stream: one for each set, a row for each column and distance.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "mplus/eval/report/summary.h"

namespace mplus::eval {
namespace {

// Samples of a column at a distance (−1: asked once, whatever was written).
using Cells = std::map<std::pair<std::string, std::int64_t>, Json>;

std::vector<std::string> cells(const std::string& column, std::int64_t distance, const Json& samples) {
  Values first, two, eight;
  for (const Json& s : samples) {
    if (!s.contains("rank")) continue;
    const std::string id = s.at("id").get<std::string>();
    const auto rank = s.at("rank").get<std::int64_t>();
    first.add(id, rank <= 1);
    two.add(id, rank <= 2);
    eight.add(id, rank <= 8);
  }
  std::vector<std::string> row{column, distance < 0 ? "any" : std::to_string(distance),
                               std::to_string(samples.size())};
  const auto mean = [&](const char* field) {
    row.push_back(interval_text(values_of(samples, field, [](const Json&) { return true; }).interval()));
  };
  for (const char* field : {"exact", "hit", "old", "unknown", "nll"}) mean(field);
  for (const Values* values : {&first, &two, &eight}) row.push_back(interval_text(values->interval()));
  for (const char* field : {"recalled", "found", "first_ms"}) mean(field);
  return row;
}

// Not every set has every measure.
void drop_empty_columns(Table& table) {
  for (std::size_t c = table.header.size(); c-- > 0;) {
    if (!std::all_of(table.rows.begin(), table.rows.end(), [&](const auto& row) { return row[c] == "–"; }))
      continue;
    const auto at = static_cast<std::ptrdiff_t>(c);
    table.header.erase(table.header.begin() + at);
    for (auto& row : table.rows) row.erase(row.begin() + at);
  }
}

}  // namespace

Summary summarise_mixed(const Json& run) {
  std::map<std::string, Cells> sets;
  for (const Json& s : run.at("samples"))
    if (s.value("applicable", true))
      sets[s.value("set", "")][{s.at("column").get<std::string>(), s.value("distance", std::int64_t{-1})}]
          .push_back(s);
  Summary summary;
  for (const auto& [set, samples] : sets) {
    Table& table = summary.tables.emplace_back();
    table.title = fmt::format("{}, by distance in chunks", set);
    table.header = {"column",    "distance",  "asked",       "exact",          "hit",
                    "old value", "not known", "nats",        "ranked 1st",     "in best 2",
                    "in best 8", "recalled",  "chunk found", "first token, ms"};
    for (const std::string& column : column_order(run.at("samples")))
      for (const auto& [where, of_cell] : samples)
        if (where.first == column) table.rows.push_back(cells(column, where.second, of_cell));
    drop_empty_columns(table);
  }
  summary.tables.back().note =
      "Mean and 95 % interval over questions. Nats: of the tokens that follow 24 given ones. Ranks are by "
      "what "
      "the column goes by, over short- and long-term rows together. Found: at least half of the passage's "
      "rows "
      "in the long-term store were recalled. First token: search and recall included, held back until it is "
      "known to stand.";
  return summary;
}

}  // namespace mplus::eval
