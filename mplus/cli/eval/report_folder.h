// Where the files of an evaluation go: the folder that was named, or one that is gone when the command ends.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

#include "mplus/core/error.h"

namespace mplus::cli {

class ReportFolder {
 public:
  explicit ReportFolder(const std::string& named) : folder_(named), temporary_(named.empty()) {
    if (temporary_) {
      std::string name = (std::filesystem::temp_directory_path() / "mplus-eval-XXXXXX").string();
      if (!::mkdtemp(name.data())) fail(ErrorCode::io, "{}: cannot be made", name);
      folder_ = name;
    }
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    if (error) fail(ErrorCode::io, "{}: cannot be made: {}", folder_.string(), error.message());
  }
  ~ReportFolder() {
    std::error_code ignored;
    if (temporary_) std::filesystem::remove_all(folder_, ignored);
  }
  ReportFolder(const ReportFolder&) = delete;
  ReportFolder& operator=(const ReportFolder&) = delete;
  const std::filesystem::path& path() const { return folder_; }
  bool temporary() const { return temporary_; }

 private:
  std::filesystem::path folder_;
  bool temporary_;
};

}  // namespace mplus::cli
