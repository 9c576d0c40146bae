#include "mplus/eval/report/summary.h"

#include <fmt/core.h>

#include <algorithm>

#include "mplus/core/error.h"
#include "mplus/eval/run/columns.h"

namespace mplus::eval {

std::string number_text(double value, int digits) { return fmt::format("{:.{}f}", value, digits); }

std::string interval_text(const Interval& interval) {
  if (interval.values == 0) return "–";
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", interval.mean, interval.low, interval.high);
}

std::vector<std::string> column_order(const Json& samples) {
  std::vector<std::string> present;
  for (const Column& column : all_columns())
    if (std::any_of(samples.begin(), samples.end(),
                    [&](const Json& s) { return s.value("column", "") == column.name; }))
      present.emplace_back(column.name);
  return present;
}

Summary summarise(const Json& run) {
  const std::string task = run.at("run").value("task", "");
  if (task == "retention") return summarise_retention(run);
  fail(ErrorCode::unsupported, "run {}: task \"{}\" is not known", run.value("name", ""), task);
}

}  // namespace mplus::eval
