#include "mplus/eval/report/plots.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "mplus/core/gnuplot.h"

namespace mplus::eval {
namespace {

// On a logarithmic axis, which else would run to the next power of ten: what there is, and a little more.
std::string x_range(const Plot& plot) {
  double low = std::numeric_limits<double>::infinity(), high = 0;
  for (const Series& series : plot.series)
    for (const PlotPoint& p : series.points)
      if (!series.level && p.x > 0) {
        low = std::min(low, p.x);
        high = std::max(high, p.x);
      }
  return high > 0 ? fmt::format("set xrange [{:.8g}:{:.8g}]\n", low / 1.3, high * 1.3) : std::string();
}

std::string curves(const Plot& plot) {
  std::string script;
  for (std::size_t s = 0; s < plot.series.size(); ++s) {
    script += fmt::format("$s{} << EOD\n", s);
    for (const PlotPoint& p : plot.series[s].points)
      script += fmt::format("{:.8g} {:.8g} {:.8g} {:.8g}\n", p.x, p.y, p.low, p.high);
    script += "EOD\n";
  }
  script += "set key outside right top spacing 1.2 samplen 4\n";
  if (plot.log_x) {
    script += "set logscale x\nset format x '%.0s%c'\n";
    script += x_range(plot);
  }
  if (plot.log_y) script += "set logscale y\n";
  if (plot.y_high > plot.y_low) script += fmt::format("set yrange [{}:{}]\n", plot.y_low, plot.y_high);
  script += "plot ";
  for (std::size_t s = 0; s < plot.series.size(); ++s) {
    const GnuplotLook& look = gnuplot_look(s);
    const Series& series = plot.series[s];
    if (s > 0) script += ", ";
    if (series.level) {
      script += fmt::format("{:.8g} with lines lw 2 dt {} lc rgb '{}' title {}", series.points.front().y,
                            look.dash, look.colour, gnuplot_text(series.label));
    } else {
      // Shifted a little, so that intervals of different series do not hide each other.
      const double shift = (static_cast<double>(s) - static_cast<double>(plot.series.size() - 1) / 2) * 0.012;
      const std::string x = plot.log_x ? fmt::format("($1*{:.6f})", std::exp(shift)) : std::string("1");
      script +=
          fmt::format("$s{} using {}:2:3:4 with yerrorlines lw 2 dt {} pt {} ps 0.9 lc rgb '{}' title {}", s,
                      x, look.dash, look.point, look.colour, gnuplot_text(series.label));
    }
  }
  return script + "\n";
}

std::string heat_map(const Plot& plot) {
  std::string script = "$map << EOD\n";
  double most = plot.map_most;
  for (std::size_t r = 0; r < plot.map_values.size(); ++r)
    for (std::size_t c = 0; c < plot.map_values[r].size(); ++c) {
      const double value = plot.map_values[r][c];
      script += fmt::format("{} {} {}\n", c, r,
                            std::isnan(value) ? std::string("NaN") : fmt::format("{:.6g}", value));
      if (!std::isnan(value)) most = std::max(most, value);
    }
  script += "EOD\nunset key\nunset grid\nset tics scale 0\nset palette defined (0 '#ffffff', 1 '#1a1a1a')\n";
  script += fmt::format("set cbrange [0:{}]\n", most > 1 || most == 0 ? std::max(most, 1.0) : most);
  const auto ticks = [](const char* axis, const std::vector<std::string>& labels) {
    std::string text = fmt::format("set {}tics (", axis);
    const std::size_t every = labels.size() > 16 ? 2 : 1;
    for (std::size_t i = 0; i < labels.size(); i += every)
      text += fmt::format("{}{} {}", i > 0 ? ", " : "", gnuplot_text(labels[i]), i);
    return text + ")\n";
  };
  script += ticks("x", plot.map_columns) + ticks("y", plot.map_rows);
  script += fmt::format("set xrange [-0.5:{}]\nset yrange [-0.5:{}]\n",
                        static_cast<double>(plot.map_columns.size()) - 0.5,
                        static_cast<double>(plot.map_rows.size()) - 0.5);
  // As boxes: a viewer would smooth the few pixels of an image into clouds.
  script += "plot $map using 1:2:3 with image pixels";
  if (plot.map_columns.size() <= 12)  // numbers where there is room: white on dark, black on light
    script += fmt::format(
        ", $map using 1:2:($3 > {0} ? sprintf('%.2f', $3) : '') with labels tc rgb 'white' notitle"
        ", $map using 1:2:($3 <= {0} ? sprintf('%.2f', $3) : '') with labels tc rgb 'black' notitle",
        most / 2);
  return script + "\n";
}

}  // namespace

std::string plot_script(const Plot& plot, const std::filesystem::path& folder) {
  std::string head = "set encoding utf8\nset grid lc rgb '#cccccc'\nset border 3\nset tics nomirror\n";
  head += fmt::format("set title {}\nset xlabel {}\nset ylabel {}\n", gnuplot_text(plot.title),
                      gnuplot_text(plot.x_label), gnuplot_text(plot.y_label));
  const std::string body = plot.map_values.empty() ? curves(plot) : heat_map(plot);
  const auto file = [&](const char* ending) {
    return gnuplot_text((folder / (plot.name + ending)).string());
  };
  // The second drawing repeats the first with its data.
  return fmt::format(
      "{0}set terminal svg size 900,520 font 'sans,14' background 'white' noenhanced\nset output {1}\n{2}"
      "set terminal pngcairo size 1350,780 font 'sans,20' background 'white' noenhanced\nset output "
      "{3}\nreplot\n",
      head, file(".svg"), body, file(".png"));
}

std::string draw_plot(const Plot& plot, const std::filesystem::path& folder) {
  return run_gnuplot(plot_script(plot, folder));
}

}  // namespace mplus::eval
