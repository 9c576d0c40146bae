// One line on standard error that says how far a long piece of work is, how fast it goes and how long it will
// take; rewritten in place. Shows nothing where standard error is no terminal, and nothing in the first
// second.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "mplus/cli/output/terminal.h"

namespace mplus::cli {

class ProgressBar {
 public:
  ProgressBar(std::string unit, std::int64_t total);
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void set_total(std::int64_t total) { total_ = total; }
  void show(std::int64_t done, std::string_view label);
  void clear();  // takes the line away, so that other text can be written

 private:
  using Clock = std::chrono::steady_clock;
  std::string line(std::int64_t done, std::string_view label, double seconds) const;

  Terminal terminal_ = standard_error();
  std::string unit_;
  std::int64_t total_;
  Clock::time_point start_ = Clock::now();
  int shown_columns_ = 0;
};

std::string duration_text(double seconds);                  // "8 s", "2 min 5 s", "1 h 3 min"
std::string size_text(double size_bytes);                   // "13.6 kB", "2.2 GB"
std::string count_text(std::int64_t count);                 // "12,345"
std::string plural(std::int64_t n, std::string_view noun);  // "1 write", "20 writes"

}  // namespace mplus::cli
