// Watches generated text for stop strings. Text that might be the beginning of one is held back until it is
// known, so that what was shown never contains a stop string or part of one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mplus::engine {

class StopText {
 public:
  explicit StopText(std::vector<std::string> stops);

  // Returns what may be shown now. Once a stop string was seen, stopped() is true and nothing more comes.
  std::string push(std::string_view text);
  std::string finish();  // what was held back
  bool stopped() const { return stopped_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace mplus::engine
