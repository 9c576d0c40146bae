// Tables and plots of the tasks that measure likelihood and cost.
#include <fmt/core.h>

#include <set>

#include "mplus/eval/report/summary.h"

namespace mplus::eval {
namespace {

std::string label_of(const Json& sample) {
  const std::string column = sample.at("column").get<std::string>();
  return column == "full" ? fmt::format("full {}", sample.at("context").get<std::int64_t>()) : column;
}

// Columns in the table's order; a context length each counts as one.
std::vector<std::string> labels_of(const Json& samples) {
  std::vector<std::string> labels;
  for (const std::string& column : column_order(samples)) {
    std::set<std::int64_t> contexts;
    for (const Json& s : samples)
      if (s.at("column") == column)
        contexts.insert(column == "full" ? s.at("context").get<std::int64_t>() : 0);
    for (std::int64_t context : contexts)
      labels.push_back(column == "full" ? fmt::format("full {}", context) : column);
  }
  return labels;
}

Table loss_table(const Json& samples, const std::vector<std::string>& labels, bool repeat, const char* title,
                 const char* field) {
  Table table{.title = title,
              .header = {"column"},
              .rows = {},
              .note = "Nats a token, mean and 95 % interval over texts."};
  std::set<std::int64_t> points;
  for (const Json& s : samples)
    if (s.at("repeat") == repeat) points.insert(s.at(field).get<std::int64_t>());
  for (std::int64_t point : points) table.header.push_back(std::to_string(point));
  for (const std::string& label : labels) {
    std::vector<std::string> row{label};
    for (std::int64_t point : points)
      row.push_back(interval_text(values_of(samples, "nll", [&](const Json& s) {
                                    return label_of(s) == label && s.at("repeat") == repeat &&
                                           s.at(field) == point;
                                  }).interval()));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Plot loss_plot(const Json& run, const std::vector<std::string>& labels, bool repeat, const char* field) {
  Plot plot;
  plot.name = fmt::format("{}-{}", run.at("name").get<std::string>(), repeat ? "repeat" : "next");
  plot.title = repeat ? "A chunk told again" : "The next chunk of a text";
  plot.x_label = repeat ? "chunks written since" : "chunks written before";
  plot.y_label = "nats a token";
  std::set<std::int64_t> points;
  for (const Json& s : run.at("samples"))
    if (s.at("repeat") == repeat) points.insert(s.at(field).get<std::int64_t>());
  for (const std::string& label : labels) {
    Series series{.label = label, .points = {}, .level = false};
    for (std::int64_t point : points) {
      const Interval i = values_of(run.at("samples"), "nll", [&](const Json& s) {
                           return label_of(s) == label && s.at("repeat") == repeat && s.at(field) == point;
                         }).interval();
      if (i.values > 0) series.points.push_back({static_cast<double>(point), i.mean, i.low, i.high});
    }
    if (!series.points.empty()) plot.series.push_back(std::move(series));
  }
  return plot;
}

// (none − column) / (none − full): 1 is as good as having the text in the window.
Table gain_table(const Json& samples, const std::vector<std::string>& labels) {
  std::set<std::int64_t> points;
  for (const Json& s : samples)
    if (!s.at("repeat").get<bool>()) points.insert(s.at("written").get<std::int64_t>());
  Table table{.title = "Share of the full context's gain that a column recovers, next chunk",
              .header = {"column"},
              .rows = {},
              .note =
                  "(closed-book − column) / (closed-book − the longest full context); empty where the "
                  "context gains under 0.005."};
  for (std::int64_t point : points) table.header.push_back(std::to_string(point));
  const auto mean = [&](const std::string& label, std::int64_t point) {
    return values_of(samples, "nll",
                     [&](const Json& s) {
                       return label_of(s) == label && !s.at("repeat").get<bool>() && s.at("written") == point;
                     })
        .interval();
  };
  for (const std::string& label : labels) {
    if (label == "closed-book") continue;
    std::vector<std::string> row{label};
    for (std::int64_t point : points) {
      Interval full;
      for (const std::string& other : labels)
        if (other.starts_with("full"))
          if (const Interval i = mean(other, point); i.values > 0) full = i;
      const Interval none = mean("closed-book", point), own = mean(label, point);
      const bool known =
          none.values > 0 && full.values > 0 && own.values > 0 && none.mean - full.mean >= 0.005;
      row.push_back(known ? number_text((none.mean - own.mean) / (none.mean - full.mean)) : "");
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

Summary summarise_loss(const Json& run) {
  const Json& samples = run.at("samples");
  Summary summary;
  if (run.at("run").at("task") == "base") {
    Table table{
        .title = "Without memory and context", .header = {"model", "nats a token"}, .rows = {}, .note = ""};
    PairedValues pairs;
    std::map<std::string, double> base;
    for (const Json& s : samples)
      if (s.at("column") == "base") base[s.at("id").get<std::string>()] = s.at("nll").get<double>();
    for (const Json& s : samples)
      if (const auto at = base.find(s.at("id").get<std::string>());
          s.at("column") == "delta" && at != base.end())
        pairs.add(at->first, at->second, s.at("nll").get<double>());
    for (const char* column : {"base", "delta"})
      table.rows.push_back({column == std::string("base") ? "untouched base" : "trained read adapter",
                            interval_text(values_of(samples, "nll", [&](const Json& s) {
                                            return s.at("column") == column;
                                          }).interval())});
    const PairedValues::Difference d = pairs.difference();
    if (d.difference.values > 0)
      table.note = fmt::format(
          "The price of the memory: {:+.4f} [{:+.4f}, {:+.4f}] nats a token, paired over {} pieces of text.",
          d.difference.mean, d.difference.low, d.difference.high, d.difference.values);
    summary.tables.push_back(std::move(table));
    return summary;
  }
  const std::vector<std::string> labels = labels_of(samples);
  summary.tables = {
      loss_table(samples, labels, false, "The next chunk, by chunks written before", "written"),
      gain_table(samples, labels),
      loss_table(samples, labels, true, "A chunk told again, by chunks written since", "distance")};
  summary.plots = {loss_plot(run, labels, false, "written"), loss_plot(run, labels, true, "distance")};
  return summary;
}

Summary summarise_cost(const Json& run) {
  Summary summary;
  Table table{
      .title = "Cost",
      .header = {"tokens", "writing, s", "a chunk, s", "first token, s", "answer, tok/s", "memory, MB",
                 "resident: own, MB", "resident: files, MB", "peak, MB"},
      .rows = {},
      .note =
          "A chunk: mean since the length before. Memory: living rows and tail. Peak: of the whole process."};
  Plot time, latency, space;
  const std::string name = run.at("name").get<std::string>();
  time.name = name + "-writing";
  time.title = "Time to write";
  time.y_label = "seconds";
  latency.name = name + "-first-token";
  latency.title = "Time to the first token of an answer";
  latency.y_label = "seconds";
  space.name = name + "-memory";
  space.title = "Memory";
  space.y_label = "MB";
  for (Plot* plot : {&time, &latency, &space}) plot->x_label = "tokens written";
  Series writing{.label = "writing", .points = {}, .level = false},
      first{.label = "first token", .points = {}, .level = false},
      rows{.label = "memory's rows", .points = {}, .level = false},
      peak{.label = "peak of the process", .points = {}, .level = false};
  const auto point = [](double x, double y) { return PlotPoint{x, y, y, y}; };
  for (const Json& s : run.at("samples")) {
    const double tokens = s.at("tokens").get<double>();
    const auto number = [&](const char* field, double scale, int digits) {
      return s.contains(field) ? number_text(s.at(field).get<double>() * scale, digits) : std::string("–");
    };
    table.rows.push_back({number_text(tokens, 0), number("write_seconds", 1, 1),
                          number("chunk_seconds", 1, 3), number("first_token_seconds", 1, 3),
                          number("answer_tokens_per_second", 1, 1), number("memory_bytes", 1e-6, 0),
                          number("resident_own_bytes", 1e-6, 0), number("resident_file_bytes", 1e-6, 0),
                          number("peak_bytes", 1e-6, 0)});
    writing.points.push_back(point(tokens, s.at("write_seconds").get<double>()));
    first.points.push_back(point(tokens, s.at("first_token_seconds").get<double>()));
    rows.points.push_back(point(tokens, s.at("memory_bytes").get<double>() * 1e-6));
    peak.points.push_back(point(tokens, s.at("peak_bytes").get<double>() * 1e-6));
  }
  time.series = {writing};
  latency.series = {first};
  space.series = {rows, peak};
  summary.tables = {table};
  summary.plots = {time, latency, space};
  return summary;
}

}  // namespace mplus::eval
