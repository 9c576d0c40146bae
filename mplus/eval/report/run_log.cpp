#include "mplus/eval/report/run_log.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"

namespace mplus::eval {
namespace {

Json header_of(const Json& identity) {
  return {{"schema", kSchema}, {"version", kSchemaVersion}, {"run", identity}};
}

void check_header(const Json& found, const Json& identity, const std::string& file) {
  if (!found.is_object() || found.value("schema", "") != kSchema)
    fail(ErrorCode::corrupt, "{}: expected the samples of an evaluation, found something else", file);
  if (found.value("version", 0) != kSchemaVersion)
    fail(ErrorCode::unsupported, "{}: samples of version {}, this program knows {}; use another folder", file,
         found.value("version", 0), kSchemaVersion);
  const Json& run = found.at("run");
  for (const auto& [key, value] : identity.items())
    if (!run.contains(key) || run.at(key) != value)
      fail(ErrorCode::invalid_argument,
           "{}: samples of another run: {}: expected {}, found {}; use another folder, or remove this file",
           file, key, value.dump(), run.contains(key) ? run.at(key).dump() : "nothing");
}

}  // namespace

RunLog::RunLog(std::filesystem::path file, const Json& identity) : file_(std::move(file)) {
  descriptor_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor_ < 0) fail(ErrorCode::io, "{}: cannot open: {}", file_.string(), std::strerror(errno));
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    ::close(descriptor_);
    fail(ErrorCode::io, "{}: another process is running this evaluation", file_.string());
  }
  try {
    const std::string text = read_text_file(file_);
    std::size_t at = 0;
    bool first = true;
    for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', at)) {
      Json line;
      try {
        line = Json::parse(text.begin() + static_cast<std::ptrdiff_t>(at),
                           text.begin() + static_cast<std::ptrdiff_t>(end));
      } catch (const Json::exception& e) {
        fail(ErrorCode::corrupt, "{}: byte {}: not a sample: {}", file_.string(), at, e.what());
      }
      if (first) {
        check_header(line, identity, file_.string());
      } else {
        keys_.insert(line.at("key").get<std::string>());
        samples_.push_back(std::move(line));
      }
      first = false;
      at = end + 1;
    }
    // What a killed process left of a line.
    if (::ftruncate(descriptor_, static_cast<off_t>(at)) != 0 || ::lseek(descriptor_, 0, SEEK_END) < 0)
      fail(ErrorCode::io, "{}: cannot cut off an unfinished line: {}", file_.string(), std::strerror(errno));
    resumed_ = samples_.size();
    if (first) append(header_of(identity));
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

RunLog::~RunLog() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void RunLog::append(const Json& line) {
  std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t n = ::write(descriptor_, text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail(ErrorCode::io, "{}: cannot write: {}", file_.string(), std::strerror(errno));
    at += static_cast<std::size_t>(n);
  }
  ::fdatasync(descriptor_);
}

void RunLog::add(const std::string& key, const Json& sample) {
  MPLUS_CHECK(!has(key), "sample {} twice", key);
  Json line{{"key", key}};
  line.update(sample);
  append(line);
  keys_.insert(key);
  samples_.push_back(std::move(line));
}

}  // namespace mplus::eval
