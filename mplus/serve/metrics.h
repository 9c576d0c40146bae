// Numbers for Prometheus, under vLLM's names where it has them. Any thread.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>

namespace mplus::serve {

class Histogram {
 public:
  explicit Histogram(std::span<const double> bounds) : bounds_(bounds) {}
  void add(double value);
  std::string text(const char* name, const char* help) const;

 private:
  std::span<const double> bounds_;  // rising
  mutable std::mutex mutex_;
  std::array<std::uint64_t, 24> counts_{};
  std::uint64_t count_ = 0;
  double sum_ = 0;
};

inline constexpr std::array kSecondsBounds{0.0002, 0.0005, 0.001, 0.005, 0.01, 0.02, 0.04,
                                           0.06,   0.08,   0.1,   0.15,  0.25, 0.5,  0.75,
                                           1.0,    2.5,    5.0,   10.0,  20.0, 40.0, 80.0};

struct Metrics {
  Histogram time_to_first_token{kSecondsBounds};
  Histogram inter_token_latency{kSecondsBounds};
  Histogram request_seconds{kSecondsBounds};
  Histogram write_seconds{kSecondsBounds};   // of a document's chunk, waiting included
  Histogram recall_seconds{kSecondsBounds};  // of an answer's, without its scout pass
  Histogram commit_seconds{kSecondsBounds};
  std::atomic<std::uint64_t> prompt_tokens = 0, generation_tokens = 0, document_tokens = 0,
                             chunks_written = 0;

  using Time = std::chrono::steady_clock::time_point;
  // A piece of an answer to a request that began then; `last`: the one before.
  void note_piece(Time began, std::optional<Time>& last);
  void note_answer(std::int64_t prompt, std::int64_t answer, Time began);  // tokens; it has ended
  void count_reply(int status);
  std::string replies_text() const;

 private:
  mutable std::mutex mutex_;
  std::map<int, std::uint64_t> replies_;
};

std::string metric_text(const char* name, const char* type, const char* help, double value);

}  // namespace mplus::serve
