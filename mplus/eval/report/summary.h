// A run made readable: tables and plots, told apart from how they are drawn. One function for each task.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "mplus/eval/metric/bootstrap.h"
#include "mplus/eval/report/run_log.h"

namespace mplus::eval {

struct Table {
  std::string title;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  std::string note;  // below it
};

struct PlotPoint {
  double x = 0, y = 0, low = 0, high = 0;
};
struct Series {
  std::string label;
  std::vector<PlotPoint> points;
  bool level = false;  // one value for every x: drawn as a line without points
};
struct Plot {
  std::string name;  // of the files, without ending
  std::string title, x_label, y_label;
  std::vector<Series> series;
  bool log_x = false, log_y = false;
  double y_low = 0, y_high = 0;  // equal: as the data say
  // A heat map instead: values[row][column], rows from below.
  std::vector<std::string> map_columns, map_rows;
  std::vector<std::vector<double>> map_values;  // NaN: nothing measured
  double map_most = 0;                          // the darkest value; 0: the largest there is
};

struct Summary {
  std::vector<Table> tables;
  std::vector<Plot> plots;
};

Summary summarise(const Json& run);  // by its task
Summary summarise_retention(const Json& run);
Summary summarise_mixed(const Json& run);
Summary summarise_script(const Json& run);  // needle, twice, unknown, chat
Summary summarise_loss(const Json& run);    // lm-loss, base
Summary summarise_cost(const Json& run);

// For the tasks' summaries.
std::string interval_text(const Interval& interval);  // ".55 [.45, .65]", or "–"
std::string number_text(double value, int digits = 3);
// The mean of a field of the samples that `fits` takes; truth values count as 0 and 1.
Values values_of(const Json& samples, const char* field, const std::function<bool(const Json&)>& fits);
std::vector<std::string> column_order(const Json& samples);  // those that occur, in the table's order

}  // namespace mplus::eval
