#include "mplus/cli/output/progress_bar.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "mplus/cli/output/print.h"

namespace mplus::cli {
namespace {

constexpr double kQuietSeconds = 1.0;
constexpr int kBarColumns = 20;

}  // namespace

ProgressBar::ProgressBar(std::string unit, std::int64_t total) : unit_(std::move(unit)), total_(total) {}

std::string ProgressBar::line(std::int64_t done, std::string_view label, double seconds) const {
  const double share = total_ > 0 ? static_cast<double>(done) / static_cast<double>(total_) : 1.0;
  const int full = static_cast<int>(share * kBarColumns);
  std::string bar(static_cast<std::size_t>(full), '#');
  bar.resize(kBarColumns, '.');
  std::string text = fmt::format("[{}] {:3.0f} %", bar, share * 100);
  if (done > 0) {
    const double rate = static_cast<double>(done) / seconds;
    text += fmt::format("  {:.0f} {}/s  {} left", rate, unit_,
                        duration_text(static_cast<double>(total_ - done) / rate));
  }
  return one_line(fmt::format("{}  {}", text, label), terminal_.width - 1);
}

void ProgressBar::show(std::int64_t done, std::string_view label) {
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  if (!terminal_.is_terminal || seconds < kQuietSeconds) return;
  std::string text = line(done, label, seconds);
  const int used = columns(text);
  text.append(static_cast<std::size_t>(std::max(0, shown_columns_ - used)), ' ');
  shown_columns_ = used;
  note("\r{}", text);
}

void ProgressBar::clear() {
  if (shown_columns_ == 0) return;
  note("\r{}\r", std::string(static_cast<std::size_t>(shown_columns_), ' '));
  shown_columns_ = 0;
}

std::string duration_text(double seconds) {
  if (seconds < 9.95) return fmt::format("{:.1f} s", std::max(0.0, seconds));
  const auto whole = static_cast<std::int64_t>(std::lround(std::min(seconds, 1e9)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

std::string size_text(double size_bytes) {
  constexpr std::array<const char*, 5> kUnits{"bytes", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  while (size_bytes >= 999.5 && unit + 1 < kUnits.size()) {
    size_bytes /= 1000;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", size_bytes, unit > 0 && size_bytes < 99.95 ? 1 : 0, kUnits[unit]);
}

std::string count_text(std::int64_t count) {
  const std::string digits = std::to_string(count < 0 ? -count : count);
  std::string text = count < 0 ? "-" : "";
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string plural(std::int64_t n, std::string_view noun) {
  return fmt::format("{} {}{}", count_text(n), noun, n == 1 ? "" : "s");
}

}  // namespace mplus::cli
