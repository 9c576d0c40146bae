// How far an evaluation is: on a terminal a bar, elsewhere a line a minute, so that a log shows life.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "mplus/cli/interrupt.h"
#include "mplus/cli/output/print.h"
#include "mplus/cli/output/progress_bar.h"

namespace mplus::cli {

class EvalProgress {
 public:
  EvalProgress(std::string name, const Interrupt& interrupt)
      : name_(std::move(name)), interrupt_(interrupt) {}

  bool show(std::int64_t done, std::int64_t total, std::string_view label) {
    if (!bar_) bar_ = std::make_unique<ProgressBar>("tok", total);
    bar_->show(done, label);
    if (!standard_error().is_terminal && since(said_) > kSaySeconds && done > 0) {
      const double left = since(start_) / static_cast<double>(done) * static_cast<double>(total - done);
      note("{}: {:.0f} % done, {} left, {}\n", name_,
           100.0 * static_cast<double>(done) / static_cast<double>(total), duration_text(left), label);
      said_ = Clock::now();
    }
    return !interrupt_.requested();
  }
  void clear() { bar_.reset(); }

 private:
  using Clock = std::chrono::steady_clock;
  static double since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  static constexpr double kSaySeconds = 60;
  std::string name_;
  const Interrupt& interrupt_;
  std::unique_ptr<ProgressBar> bar_;
  Clock::time_point start_ = Clock::now(), said_ = Clock::now();
};

}  // namespace mplus::cli
