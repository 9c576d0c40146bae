// One document that is being read: what its messages begin with, and when it must be done.
#pragma once

#include <string>
#include <string_view>

#include "mplus/core/error.h"
#include "mplus/documents/document.h"

namespace mplus::documents {

class Reading {
 public:
  using Clock = std::chrono::steady_clock;

  Reading(std::string_view name, const DocumentLimits& limits)
      : name_(name), limits_(limits), deadline_(Clock::now() + limits.time) {}
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

  const DocumentLimits& limits() const { return limits_; }
  Clock::time_point deadline() const { return deadline_; }

  template <class... Args>
  [[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) const {
    throw Error(code, name_ + ": " + fmt::format(format, std::forward<Args>(args)...));
  }
  [[noreturn]] void fail_time() const {
    fail(ErrorCode::out_of_capacity, "reading it took longer than {} ms", limits_.time.count());
  }
  [[noreturn]] void fail_text_size() const {
    fail(ErrorCode::out_of_capacity, "more than {} bytes of text; divide it", limits_.text_bytes);
  }
  void check_time() const {
    if (Clock::now() > deadline_) fail_time();
  }

 private:
  const std::string name_;
  const DocumentLimits& limits_;
  const Clock::time_point deadline_;
};

}  // namespace mplus::documents
