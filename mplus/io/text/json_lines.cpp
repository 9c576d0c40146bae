#include "mplus/io/text/json_lines.h"

#include "mplus/core/error.h"
#include "mplus/io/text/unpacked_file.h"

namespace mplus::io {
namespace {

constexpr std::size_t kLongestLine = std::size_t{64} << 20;

bool blank(const std::string& line) { return line.find_first_not_of(" \t\r") == std::string::npos; }

}  // namespace

JsonLines::JsonLines(std::filesystem::path file)
    : file_(std::move(file)), bytes_(std::make_unique<UnpackedFile>(file_)) {}
JsonLines::~JsonLines() = default;

std::string JsonLines::where() const { return fmt::format("{}:{}", file_.string(), line_); }

bool JsonLines::any_line(std::string& line) {
  std::size_t searched = at_;
  for (;;) {
    const std::size_t end = buffer_.find('\n', searched);
    if (end != std::string::npos) {
      line.assign(buffer_, at_, end - at_);
      at_ = end + 1;
      ++line_;
      return true;
    }
    if (buffer_.size() - at_ > kLongestLine)
      fail(ErrorCode::unsupported, "{}:{}: a line of more than {} MB", file_.string(), line_ + 1,
           kLongestLine >> 20);
    buffer_.erase(0, at_);
    at_ = 0;
    searched = buffer_.size();
    if (bytes_->append_to(buffer_)) continue;
    if (buffer_.empty()) return false;
    line = std::move(buffer_);
    buffer_.clear();
    ++line_;
    return true;
  }
}

bool JsonLines::next_line(std::string& line) {
  while (any_line(line))
    if (!blank(line)) return true;
  return false;
}

bool JsonLines::next(Json& object) {
  std::string line;
  if (!next_line(line)) return false;
  object = parse_json(line, where());
  if (!object.is_object())
    fail(ErrorCode::corrupt, "{}: expected a JSON object, found {}", where(), object.type_name());
  return true;
}

}  // namespace mplus::io
