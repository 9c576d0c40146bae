// A folder's report from its results: report.md with tables, plots as SVG and PNG.
#pragma once

#include <filesystem>
#include <string>

#include "mplus/eval/report/run_log.h"
#include "mplus/eval/report/summary.h"

namespace mplus::eval {

struct ReportResult {
  std::size_t plots = 0;
  std::string trouble;  // why there are no plots: gnuplot is missing or failed
};
ReportResult write_report(const std::filesystem::path& folder, const Json& results);

std::string markdown_table(const Table& table);

// Two folders side by side: for each run, column and measure both have, the difference over the questions
// both asked, with a paired bootstrap.
std::vector<Table> compare(const Json& a, const Json& b, const std::string& name_a,
                           const std::string& name_b);

}  // namespace mplus::eval
