#include "mplus/train/run/run_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <system_error>

#include "mplus/core/error.h"
#include "mplus/core/gnuplot.h"

namespace mplus::train {
namespace {

namespace fs = std::filesystem;
using Curve = RunCurves::Curve;
using Curves = RunCurves::Curves;

constexpr double kLongest = 20;  // seconds that gnuplot may take

void add(Curve& curve, double x, double y) {
  while (!curve.empty() && curve.back().first >= x) curve.pop_back();
  curve.emplace_back(x, y);
}

void add_all(Curves& curves, double x, const io::Json& line, const char* key) {
  if (!line.contains(key) || !line[key].is_object()) return;
  for (const auto& [name, value] : line[key].items())
    if (value.is_number()) add(curves[name], x, value.get<double>());
}

// A step's loss is that of a few answers: each point moves a quarter of the way to the next.
Curve smoothed(Curve curve) {
  constexpr double kWeight = 0.25;
  for (std::size_t i = 1; i < curve.size(); ++i)
    curve[i].second = curve[i - 1].second + kWeight * (curve[i].second - curve[i - 1].second);
  return curve;
}

// The panels of a picture, one after another.
class Script {
 public:
  void begin_panel(const std::string& title, const std::string& y, const std::string& settings) {
    panels_.push_back(
        fmt::format("set title {}\nset ylabel {}\n{}", gnuplot_text(title), gnuplot_text(y), settings));
    lines_.clear();
  }
  void add_line(const Curve& curve, std::size_t look, const std::string& name, bool dashed) {
    data_ += fmt::format("$line{} << EOD\n", count_);
    for (const auto& [x, y] : curve) data_ += fmt::format("{:.8g} {:.8g}\n", x, y);
    data_ += "EOD\n";
    const GnuplotLook& l = gnuplot_look(look);
    // Points tell lines apart; eight of them, else they hide each other.
    lines_.push_back(fmt::format(
        "$line{} with linespoints lw 1.6 ps 0.7 pi {} dt {} pt {} lc rgb '{}' title {}", count_++,
        std::max<std::size_t>(1, curve.size() / 8), dashed ? 2 : 1, l.point, l.colour, gnuplot_text(name)));
  }
  void end_panel() { panels_.back() += fmt::format("plot {}\n", fmt::join(lines_, ", ")); }

  std::string text(const fs::path& svg) const {
    std::string all = fmt::format(
        "set encoding utf8\nset terminal svg size {},{} font 'sans,13' background 'white' noenhanced\n"
        "set output {}\n{}"
        "set grid lc rgb '#cccccc'\nset border 3\nset tics nomirror font ',10'\nset xlabel 'step'\n"
        "set key below center horizontal samplen 3 spacing 1.1\nset multiplot layout 1,{}\n",
        480 * panels_.size(), 460, gnuplot_text(svg.string()), data_, panels_.size());
    for (const std::string& panel : panels_) all += panel;
    return all + "unset multiplot\nset output\n";
  }
  bool empty() const { return panels_.empty(); }

 private:
  std::string data_;
  std::vector<std::string> panels_, lines_;
  std::size_t count_ = 0;
};

}  // namespace

RunCurves read_curves(const fs::path& log) {
  std::ifstream file(log);
  if (!file) fail(ErrorCode::io, "{}: cannot be read", log.string());
  RunCurves curves;
  std::string stage;
  double before = 0, last = 0;  // steps of the stages before this one; largest step so far
  std::int64_t number = 0;
  for (std::string text; std::getline(file, text);) {
    ++number;
    const io::Json line = io::Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (line.is_discarded() && file.eof()) break;  // it is being written
    if (!line.is_object())
      fail(ErrorCode::corrupt, "{}:{}: expected an object of a run's log", log.string(), number);
    if (!line.contains("step") || !line["step"].is_number()) continue;  // a profile
    if (const std::string name = line.value("stage", ""); name != stage) {
      stage = name;
      before = last;
    }
    const double x = before + line["step"].get<double>();
    last = std::max(last, x);
    add_all(curves.loss, x, line, "nll");
    add_all(curves.held_out, x, line, "nll_held_out");
    add_all(curves.found, x, line, "found_first");
    add_all(curves.found_by_vector, x, line, "found_first_vector");
    if (!line.contains("nll") || !line.contains("nll_without_memory")) continue;
    for (const auto& [task, without] : line["nll_without_memory"].items())
      if (line["nll"].contains(task) && without.is_number())
        add(curves.gap[task], x, without.get<double>() - line["nll"][task].get<double>());
  }
  return curves;
}

std::string run_plot_script(const RunCurves& curves, const fs::path& svg) {
  Script script;
  // A task looks the same in both panels.
  std::map<std::string, std::size_t> looks;
  for (const Curves* tasks : {&curves.loss, &curves.held_out})
    for (const auto& [task, curve] : *tasks) looks.emplace(task, looks.size());
  const auto panel = [&](const Curves& tasks, const Curves& held_out, const char* title,
                         const char* settings) {
    if (tasks.empty() && held_out.empty()) return;
    script.begin_panel(title, "nats a token, smoothed", settings);
    for (const auto& [task, curve] : tasks) script.add_line(smoothed(curve), looks.at(task), task, false);
    for (const auto& [task, curve] : held_out)
      script.add_line(smoothed(curve), looks.at(task), fmt::format("{}, held out", task), true);
    script.end_panel();
  };
  panel(curves.loss, curves.held_out, "loss by task", "set logscale y\n");
  panel(curves.gap, {}, "loss without memory − with it", "unset logscale y\nset xzeroaxis lt -1\n");
  if (!curves.found.empty()) {
    script.begin_panel("right chunk first among its kind, unseen", "share of questions",
                       "unset logscale y\nset yrange [0:1]\n");
    std::size_t look = 0;
    for (const auto& [kind, curve] : curves.found) {
      script.add_line(curve, look, kind, false);
      if (const auto by_vector = curves.found_by_vector.find(kind); by_vector != curves.found_by_vector.end())
        script.add_line(by_vector->second, look, fmt::format("{}, one vector", kind), true);
      ++look;
    }
    script.end_panel();
  }
  return script.empty() ? std::string() : script.text(svg);
}

std::string draw_run(const fs::path& log, const fs::path& svg) {
  try {
    fs::path unfinished = svg;
    unfinished += ".tmp";
    const std::string script = run_plot_script(read_curves(log), unfinished);
    if (script.empty()) return fmt::format("{}: nothing to draw yet", log.string());
    std::string trouble = run_gnuplot(script, kLongest);
    std::error_code ignored;
    if (trouble.empty()) fs::rename(unfinished, svg);
    else fs::remove(unfinished, ignored);
    return trouble;
  } catch (const std::exception& e) {
    return e.what();
  }
}

RunPlot::~RunPlot() {
  if (drawing_.valid()) finish();
  if (!again_) return;
  draw();
  if (drawing_.valid()) finish();
}

void RunPlot::draw() {
  again_ = drawing_.valid() && drawing_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
  if (again_) return;
  if (drawing_.valid()) finish();
  const auto drawn = [log = log_, svg = svg_] {
    std::error_code no_log;
    const bool is_empty = fs::file_size(log, no_log) == 0;  // the first step has not been told yet
    return is_empty ? std::string() : draw_run(log, svg);
  };
  try {
    drawing_ = std::async(std::launch::async, drawn);
  } catch (const std::system_error&) {  // no thread to be had: another time
    again_ = true;
  }
}

void RunPlot::finish() {
  const std::string trouble = drawing_.get();
  if (trouble.empty() || complained_) return;
  complained_ = true;
  told_.say(fmt::format("no picture of the run: {}", trouble));
}

}  // namespace mplus::train
