#include "mplus/serve/metrics.h"

#include <fmt/core.h>

#include <algorithm>

namespace mplus::serve {

void Histogram::add(double value) {
  const auto bucket =
      static_cast<std::size_t>(std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin());
  const std::lock_guard lock(mutex_);
  ++counts_[bucket];
  ++count_;
  sum_ += value;
}

std::string Histogram::text(const char* name, const char* help) const {
  std::string text = fmt::format("# HELP mplus:{} {}\n# TYPE mplus:{} histogram\n", name, help, name);
  const std::lock_guard lock(mutex_);
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < bounds_.size(); ++i) {
    below += counts_[i];
    text += fmt::format("mplus:{}_bucket{{le=\"{}\"}} {}\n", name, bounds_[i], below);
  }
  return text + fmt::format("mplus:{}_bucket{{le=\"+Inf\"}} {}\nmplus:{}_sum {}\nmplus:{}_count {}\n", name,
                            count_, name, sum_, name, count_);
}

void Metrics::note_piece(Time began, std::optional<Time>& last) {
  const Time now = std::chrono::steady_clock::now();
  (last ? inter_token_latency : time_to_first_token)
      .add(std::chrono::duration<double>(now - last.value_or(began)).count());
  last = now;
}

void Metrics::note_answer(std::int64_t prompt, std::int64_t answer, Time began) {
  prompt_tokens += static_cast<std::uint64_t>(prompt);
  generation_tokens += static_cast<std::uint64_t>(answer);
  request_seconds.add(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
}

void Metrics::count_reply(int status) {
  const std::lock_guard lock(mutex_);
  ++replies_[status];
}

std::string Metrics::replies_text() const {
  std::string text = "# HELP mplus:replies_total Replies by status.\n# TYPE mplus:replies_total counter\n";
  const std::lock_guard lock(mutex_);
  for (const auto& [status, count] : replies_)
    text += fmt::format("mplus:replies_total{{status=\"{}\"}} {}\n", status, count);
  return text;
}

std::string metric_text(const char* name, const char* type, const char* help, double value) {
  return fmt::format("# HELP mplus:{} {}\n# TYPE mplus:{} {}\nmplus:{} {}\n", name, help, name, type, name,
                     value);
}

}  // namespace mplus::serve
