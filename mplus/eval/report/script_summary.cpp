// Tables and plots of the tasks that are scripts.
#include <fmt/core.h>

#include <cmath>
#include <map>
#include <set>

#include "mplus/eval/report/summary.h"

namespace mplus::eval {
namespace {

struct Measure {
  const char* field;
  const char* title;
};

std::vector<Measure> measures_of(const std::string& task) {
  if (task == "twice")
    return {{"new", "says the new value"}, {"old", "says the old value"}, {"exact", "exact"}};
  if (task == "unknown") return {{"unknown", "says that it is not known"}};
  if (task == "needle") return {{"hit", "hit"}};
  if (task == "longbench")
    return {{"f1", "F1, first line"},
            {"f1_whole", "F1, whole output"},
            {"stemmed_f1", "stemmed F1"},
            {"right", "right option"}};
  return {{"exact", "exact"}, {"hit", "hit"}, {"f1", "F1"}};
}

// One row a column and point; finding beside answering.
Table by_point(const Json& run, const std::vector<std::string>& columns) {
  const Json& samples = run.at("samples");
  const std::string task = run.at("run").at("task");
  const std::vector<Measure> measures = measures_of(task);
  // Questions of chains are asked so many chunks after their facts, each at a point of its own.
  const char* point_field = task == "chains" ? "distance" : "written";
  Table table{.title = "Answers",
              .header = {"column", task == "chains" ? "chunks since" : "chunks written"},
              .rows = {},
              .note = "Mean and 95 % interval over questions."};
  for (const Measure& measure : measures) table.header.emplace_back(measure.title);
  for (const char* title : {"recalled", "chunk found", "first token, ms", "ranked 1st", "answers"})
    table.header.emplace_back(title);
  for (const std::string& column : columns) {
    std::set<std::int64_t> points;  // −1: asked once, whatever was written
    for (const Json& s : samples)
      if (s.at("column") == column) points.insert(s.value(point_field, std::int64_t{-1}));
    for (std::int64_t point : points) {
      const auto fits = [&](const Json& s) {
        return s.at("column") == column && s.value(point_field, std::int64_t{-1}) == point;
      };
      std::vector<std::string> row{column, point < 0 ? "any" : std::to_string(point)};
      for (const Measure& measure : measures)
        row.push_back(interval_text(values_of(samples, measure.field, fits).interval()));
      for (const char* field : {"recalled", "found", "first_ms"})
        row.push_back(interval_text(values_of(samples, field, fits).interval()));
      const Interval first =
          values_of(samples, "rank", [&](const Json& s) { return fits(s) && s.contains("rank"); }).interval();
      const Interval best = values_of(samples, "rank", [&](const Json& s) {
                              return fits(s) && s.value("rank", 0) == 1;
                            }).interval();
      row.push_back(first.values == 0
                        ? "–"
                        : number_text(static_cast<double>(best.values) / static_cast<double>(first.values)));
      row.push_back(std::to_string(values_of(samples, measures.front().field, fits).interval().values));
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

Plot needle_map(const Json& run, const std::string& column) {
  Plot plot;
  plot.name = fmt::format("{}-{}", run.at("name").get<std::string>(), column);
  plot.title = fmt::format("Needle found ({})", column);
  plot.x_label = "tokens of text";
  plot.y_label = "depth, %";
  std::set<std::int64_t> lengths, depths;
  for (const Json& s : run.at("samples")) {
    lengths.insert(s.at("length").get<std::int64_t>());
    depths.insert(s.at("depth").get<std::int64_t>());
  }
  for (std::int64_t length : lengths) plot.map_columns.push_back(std::to_string(length));
  bool anything = false;
  for (std::int64_t depth : depths) {
    plot.map_rows.push_back(std::to_string(depth));
    std::vector<double>& row = plot.map_values.emplace_back();
    for (std::int64_t length : lengths) {
      const Interval i =
          values_of(run.at("samples"), "hit", [&](const Json& s) {
            return s.at("column") == column && s.at("length") == length && s.at("depth") == depth;
          }).interval();
      row.push_back(i.values == 0 ? std::nan("") : i.mean);
      anything = anything || i.values > 0;
    }
  }
  plot.map_most = 1;
  if (!anything) plot.map_values.clear();
  return plot;
}

Table by_category(const Json& run, const std::vector<std::string>& columns) {
  Table table{.title = "Stemmed F1 by category", .header = {"column"}, .rows = {}, .note = ""};
  std::set<int> categories;
  for (const Json& s : run.at("samples"))
    if (s.contains("category")) categories.insert(s.at("category").get<int>());
  for (int category : categories) table.header.push_back(std::to_string(category));
  for (const std::string& column : columns) {
    std::vector<std::string> row{column};
    for (int category : categories)
      row.push_back(interval_text(values_of(run.at("samples"), "stemmed_f1", [&](const Json& s) {
                                    return s.at("column") == column && s.value("category", 0) == category;
                                  }).interval()));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

Summary summarise_script(const Json& run) {
  const std::vector<std::string> columns = column_order(run.at("samples"));
  Summary summary;
  summary.tables.push_back(by_point(run, columns));
  if (Table table = by_category(run, columns); table.header.size() > 1)
    summary.tables.push_back(std::move(table));
  if (run.at("run").at("task") == "needle")
    for (const std::string& column : columns)
      if (Plot map = needle_map(run, column); !map.map_values.empty())
        summary.plots.push_back(std::move(map));
  return summary;
}

}  // namespace mplus::eval
