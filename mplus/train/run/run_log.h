// What a run tells: a JSON object a line in a file, and a line for people.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "mplus/io/text/json.h"

namespace mplus::train {

class RunLog {
 public:
  RunLog() = default;                                  // tells nobody
  explicit RunLog(const std::filesystem::path& file);  // is appended to
  void record(const io::Json& line);
  void say(const std::string& line);

 private:
  std::ofstream file_;
  bool speaks_ = false;
};

}  // namespace mplus::train
