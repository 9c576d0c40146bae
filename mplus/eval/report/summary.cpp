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

Values values_of(const Json& samples, const char* field, const std::function<bool(const Json&)>& fits) {
  Values values;
  for (const Json& s : samples) {
    if (!s.contains(field) || !fits(s)) continue;
    const Json& v = s.at(field);
    values.add(s.at("id").get<std::string>(), v.is_boolean() ? (v.get<bool>() ? 1.0 : 0.0) : v.get<double>());
  }
  return values;
}

Summary summarise(const Json& run) {
  const std::string task = run.at("run").value("task", "");
  if (task == "retention") return summarise_retention(run);
  if (task == "mixed") return summarise_mixed(run);
  if (task == "lm-loss" || task == "base") return summarise_loss(run);
  if (task == "cost") return summarise_cost(run);
  for (const char* script : {"needle", "twice", "unknown", "chat", "chains", "longbench"})
    if (task == script) return summarise_script(run);
  fail(ErrorCode::unsupported, "run {}: task \"{}\" is not known", run.value("name", ""), task);
}

}  // namespace mplus::eval
