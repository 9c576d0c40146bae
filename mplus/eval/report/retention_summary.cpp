// Tables and plots of the retention task.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>

#include "mplus/eval/report/summary.h"

namespace mplus::eval {
namespace {

// Distances in chunks that count as one: every distance for itself when they were asked for, doubling
// otherwise.
struct Bin {
  std::int64_t begin = 0, end = 0;  // [begin, end)
  std::string label() const {
    return end == begin + 1 ? fmt::format("{}", begin) : fmt::format("{}–{}", begin, end - 1);
  }
  bool holds(const Json& sample) const {
    const auto d = sample.at("distance").get<std::int64_t>();
    return d >= begin && d < end;
  }
};

std::vector<Bin> bins_of(const Json& run) {
  const Json& samples = run.at("samples");
  std::vector<Bin> bins;
  if (run.at("run").value("protocol", "") == "separate") {
    for (const Json& d : run.at("run").at("distances"))
      bins.push_back({d.get<std::int64_t>(), d.get<std::int64_t>() + 1});
    return bins;
  }
  std::int64_t most = 0;
  for (const Json& s : samples) most = std::max(most, s.value("distance", std::int64_t{0}));
  bins.push_back({0, 10});
  while (bins.back().end <= most) bins.push_back({bins.back().end, bins.back().end * 2});
  return bins;
}

bool counts(const Json& sample) { return sample.value("applicable", true); }

class Samples {
 public:
  explicit Samples(const Json& run) : all_(run.at("samples")) {}

  // The mean of a field over a column's samples, in a bin or anywhere.
  Values values(const std::string& column, const char* field, const Bin* bin = nullptr) const {
    Values values;
    each(column, bin, [&](const Json& s) {
      if (!s.contains(field)) return;
      const Json& v = s.at(field);
      values.add(s.at("id").get<std::string>(),
                 v.is_boolean() ? static_cast<double>(v.get<bool>()) : v.get<double>());
    });
    return values;
  }
  Values share_ranked(const std::string& column, std::int64_t within, const Bin* bin) const {
    Values values;
    each(column, bin, [&](const Json& s) {
      if (s.contains("rank"))
        values.add(s.at("id").get<std::string>(), s.at("rank").get<std::int64_t>() <= within ? 1.0 : 0.0);
    });
    return values;
  }
  bool fixed(const std::string& column) const {
    bool found = false;
    each(column, nullptr, [&](const Json& s) { found = found || s.contains("distance"); });
    return !found;
  }
  std::vector<double> layers(const std::string& column, const Bin* bin) const {
    std::vector<double> sum;
    double n = 0;
    each(column, bin, [&](const Json& s) {
      if (!s.contains("recalled_layers") || s.value("long_term", 0.0) == 0.0) return;
      const auto layers = s.at("recalled_layers").get<std::vector<double>>();
      sum.resize(layers.size(), 0.0);
      for (std::size_t l = 0; l < layers.size(); ++l) sum[l] += layers[l];
      ++n;
    });
    for (double& value : sum) value /= n;
    return sum;
  }

 private:
  template <class F>
  void each(const std::string& column, const Bin* bin, const F& f) const {
    for (const Json& s : all_)
      if (s.at("column") == column && counts(s) && (!bin || (s.contains("distance") && bin->holds(s)))) f(s);
  }
  const Json& all_;
};

Table overall(const Samples& samples, const std::vector<std::string>& columns) {
  Table table{
      .title = "All questions, all distances",
      .header = {"column", "exact", "hit", "verbatim", "F1", "answers"},
      .rows = {},
      .note =
          "Mean and 95 % interval over questions. Closed-book and context do not depend on the distance."};
  for (const std::string& column : columns) {
    std::vector<std::string> row{column};
    for (const char* field : {"exact", "hit", "verbatim", "f1"})
      row.push_back(interval_text(samples.values(column, field).interval()));
    row.push_back(std::to_string(samples.values(column, "exact").interval().values));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table by_distance(const Samples& samples, const std::vector<std::string>& columns,
                  const std::vector<Bin>& bins, const char* field) {
  Table table{.title = fmt::format("Share of answers that are {}, by distance in chunks", field),
              .header = {"column"},
              .rows = {},
              .note = ""};
  for (const Bin& bin : bins) table.header.push_back(bin.label());
  for (const std::string& column : columns) {
    const bool fixed = samples.fixed(column);
    std::vector<std::string> row{column};
    for (std::size_t b = 0; b < bins.size(); ++b)
      row.push_back(
          fixed && b > 0
              ? ""
              : interval_text(samples.values(column, field, fixed ? nullptr : &bins[b]).interval()));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table finding(const Samples& samples, const std::vector<std::string>& columns, const std::vector<Bin>& bins) {
  Table table{.title = "Where the passage's rows are, and whether they are found",
              .header = {"column", "distance", "in short-term", "in long-term", "recalled", "chunk found",
                         "ranked 1st", "in best 2", "in best 8"},
              .rows = {},
              .note =
                  "Shares of the K rows a chunk leaves in each layer. Found: at least half of its rows in "
                  "the long-term "
                  "store were recalled. Ranks are by vote over short- and long-term rows together."};
  for (const std::string& column : columns)
    for (const Bin& bin : bins) {
      const Interval present = samples.values(column, "short_term", &bin).interval();
      if (present.values == 0) continue;
      std::vector<std::string> row{column, bin.label(), number_text(present.mean),
                                   number_text(samples.values(column, "long_term", &bin).interval().mean)};
      for (const char* field : {"recalled", "found"})
        row.push_back(interval_text(samples.values(column, field, &bin).interval()));
      for (std::int64_t within : {1, 2, 8}) {
        const Interval share = samples.share_ranked(column, within, &bin).interval();
        row.push_back(share.values == 0 ? "–" : number_text(share.mean));
      }
      table.rows.push_back(std::move(row));
    }
  return table;
}

// A column's mean over a bin, at the bin's mean distance; of no bin: over all, at the left end.
void add_point(Series& series, const Samples& samples, const std::string& column, const char* field,
               const Bin* bin) {
  const Interval i = samples.values(column, field, bin).interval();
  const Interval x = bin ? samples.values(column, "distance_tokens", bin).interval() : Interval{};
  if (i.values > 0) series.points.push_back({std::max(x.mean, 100.0), i.mean, i.low, i.high});
}

Plot curve(const Samples& samples, const std::vector<std::string>& columns, const std::vector<Bin>& bins,
           const std::string& name, const char* field, const std::string& title) {
  Plot plot;
  plot.name = fmt::format("{}-{}", name, field);
  plot.title = title;
  plot.x_label = "tokens written since";
  plot.y_label = fmt::format("share of answers that are {}", field);
  plot.y_high = 1;
  plot.log_x = true;
  for (const std::string& column : columns) {
    Series series{.label = column, .points = {}, .level = samples.fixed(column)};
    for (const Bin& bin : bins) {
      add_point(series, samples, column, field, series.level ? nullptr : &bin);
      if (series.level) break;
    }
    if (!series.points.empty()) plot.series.push_back(std::move(series));
  }
  return plot;
}

Plot shares(const Samples& samples, const std::string& column, const std::vector<Bin>& bins,
            const std::string& name) {
  Plot plot;
  plot.name = fmt::format("{}-rows-{}", name, column);
  plot.title = fmt::format("Where the passage's rows are ({})", column);
  plot.x_label = "tokens written since";
  plot.y_label = "share of the passage's rows";
  plot.y_high = 1;
  plot.log_x = true;
  for (const auto& [field, label] :
       {std::pair{"short_term", "in short-term memory"}, std::pair{"long_term", "in long-term memory"},
        std::pair{"recalled", "recalled"}}) {
    Series series{.label = label, .points = {}, .level = false};
    for (const Bin& bin : bins) add_point(series, samples, column, field, &bin);
    plot.series.push_back(std::move(series));
  }
  return plot;
}

Plot layers(const Samples& samples, const std::string& column, const std::vector<Bin>& bins,
            const std::string& name) {
  Plot plot;
  plot.name = fmt::format("{}-layers-{}", name, column);
  plot.title = fmt::format("Share of the passage's rows recalled ({})", column);
  plot.x_label = "layer, of those that keep a memory";
  plot.y_label = "distance in chunks";
  for (const Bin& bin : bins) {
    const std::vector<double> row = samples.layers(column, &bin);
    if (row.empty()) continue;
    plot.map_rows.push_back(bin.label());
    plot.map_values.push_back(row);
  }
  if (!plot.map_values.empty())
    for (std::size_t l = 0; l < plot.map_values.front().size(); ++l)
      plot.map_columns.push_back(std::to_string(l));
  return plot;
}

}  // namespace

Summary summarise_retention(const Json& run) {
  const Samples samples(run);
  const std::vector<std::string> columns = column_order(run.at("samples"));
  const std::vector<Bin> bins = bins_of(run);
  const std::string name = run.at("name").get<std::string>();
  Summary summary;
  summary.tables = {overall(samples, columns), by_distance(samples, columns, bins, "exact"),
                    by_distance(samples, columns, bins, "hit"), finding(samples, columns, bins)};
  const std::string set = run.at("run").at("data").at("name").get<std::string>();
  summary.plots.push_back(curve(samples, columns, bins, name, "exact", fmt::format("Retention, {}", set)));
  summary.plots.push_back(curve(samples, columns, bins, name, "hit", fmt::format("Retention, {}", set)));
  for (const std::string& column : columns) {
    if (column == "stm" || samples.values(column, "recalled").empty()) continue;
    if (column == "mplus") summary.plots.push_back(shares(samples, column, bins, name));
    if (Plot map = layers(samples, column, bins, name); !map.map_values.empty())
      summary.plots.push_back(std::move(map));
  }
  return summary;
}

}  // namespace mplus::eval
