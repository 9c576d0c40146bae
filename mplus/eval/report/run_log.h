// One run's samples on disk, so that a run can be stopped at any moment and gone on with: a file of JSON
// lines, the first says what the run is, every other is one finished sample with a key of its own. Lines are
// only ever appended; a last line that was cut off is dropped.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "mplus/io/text/json.h"

namespace mplus::eval {

using Json = nlohmann::ordered_json;  // keys in the order in which they are set

inline constexpr const char* kSchema = "mplus-eval";
inline constexpr int kSchemaVersion = 1;

class RunLog {
 public:
  // Makes the file, or goes on with it. `identity`: everything that samples depend on; throws
  // invalid_argument naming the first field that differs, unsupported for a file of another version.
  RunLog(std::filesystem::path file, const Json& identity);
  ~RunLog();
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;

  bool has(const std::string& key) const { return keys_.contains(key); }
  void add(const std::string& key, const Json& sample);  // on disk when it returns
  const std::vector<Json>& samples() const { return samples_; }
  std::size_t resumed() const { return resumed_; }  // samples that were there before

 private:
  void append(const Json& line);

  std::filesystem::path file_;
  int descriptor_ = -1;
  std::set<std::string> keys_;
  std::vector<Json> samples_;
  std::size_t resumed_ = 0;
};

}  // namespace mplus::eval
