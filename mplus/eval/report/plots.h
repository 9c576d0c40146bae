// Plots drawn by gnuplot, as SVG and PNG. Lines differ in dash and point, not in colour alone.
#pragma once

#include <filesystem>
#include <string>

#include "mplus/eval/report/summary.h"

namespace mplus::eval {

// Empty: drawn. Otherwise what went wrong.
std::string draw_plot(const Plot& plot, const std::filesystem::path& folder);

std::string plot_script(const Plot& plot, const std::filesystem::path& folder);  // what gnuplot is told

}  // namespace mplus::eval
