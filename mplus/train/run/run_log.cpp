#include "mplus/train/run/run_log.h"

#include <cstdio>

#include "mplus/core/error.h"

namespace mplus::train {

RunLog::RunLog(const std::filesystem::path& file) : file_(file, std::ios::app), speaks_(true) {
  if (!file_) fail(ErrorCode::io, "{}: cannot be written", file.string());
}

void RunLog::record(const io::Json& line) {
  if (!speaks_) return;
  file_ << line.dump() << '\n';
  file_.flush();
}

void RunLog::say(const std::string& line) {
  if (speaks_) std::fprintf(stderr, "%s\n", line.c_str());
}

}  // namespace mplus::train
