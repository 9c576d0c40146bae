#include "mplus/eval/data/json_lines.h"

#include <lzma.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "mplus/core/error.h"

namespace mplus::eval {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 16;
constexpr std::size_t kLongestLine = std::size_t{64} << 20;
constexpr std::uint64_t kDecoderMemory = std::uint64_t{256} << 20;  // as much as xz -9 needs, and some
constexpr std::array<unsigned char, 6> kXzMagic{0xfd, '7', 'z', 'X', 'Z', 0x00};

}  // namespace

// The file's bytes, unpacked.
class JsonLines::Bytes {
 public:
  explicit Bytes(const std::filesystem::path& file) : name_(file.string()) {
    std::error_code ignored;
    if (std::filesystem::is_directory(file, ignored))
      fail(ErrorCode::invalid_argument, "{}: expected a file of JSON lines, found a folder", name_);
    file_ = std::fopen(name_.c_str(), "rb");
    if (!file_)
      fail(errno == ENOENT ? ErrorCode::not_found : ErrorCode::io, "{}: cannot open: {}", name_,
           std::strerror(errno));
    fill();
    packed_ = size_ >= kXzMagic.size() && std::memcmp(block_.data(), kXzMagic.data(), kXzMagic.size()) == 0;
    if (packed_ && lzma_stream_decoder(&stream_, kDecoderMemory, LZMA_CONCATENATED) != LZMA_OK)
      fail(ErrorCode::io, "{}: cannot start the xz decoder", name_);
  }
  ~Bytes() {
    lzma_end(&stream_);
    if (file_) std::fclose(file_);
  }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;

  // Appends some more bytes; false at the end.
  bool append_to(std::string& out) { return packed_ ? unpack(out) : copy(out); }

 private:
  void fill() {
    size_ = std::fread(block_.data(), 1, block_.size(), file_);
    at_ = 0;
    if (std::ferror(file_)) fail(ErrorCode::io, "{}: cannot read: {}", name_, std::strerror(errno));
  }
  bool copy(std::string& out) {
    if (at_ == size_) fill();
    if (size_ == 0) return false;
    out.append(reinterpret_cast<const char*>(block_.data()) + at_, size_ - at_);
    at_ = size_;
    return true;
  }
  bool unpack(std::string& out) {
    if (finished_) return false;
    const std::size_t before = out.size();
    out.resize(before + kBlock);
    stream_.next_out = reinterpret_cast<std::uint8_t*>(out.data() + before);
    stream_.avail_out = kBlock;
    while (stream_.avail_out > 0 && !finished_) {
      if (at_ == size_) fill();
      stream_.next_in = block_.data() + at_;
      stream_.avail_in = size_ - at_;
      const lzma_ret outcome = lzma_code(&stream_, size_ == 0 ? LZMA_FINISH : LZMA_RUN);
      at_ = size_ - stream_.avail_in;
      if (outcome == LZMA_STREAM_END) {
        finished_ = true;
      } else if (outcome != LZMA_OK) {
        fail(ErrorCode::corrupt, "{}: {} (code {})", name_,
             outcome == LZMA_BUF_ERROR ? "the compressed file is cut off" : "not a sound xz file",
             static_cast<int>(outcome));
      }
    }
    out.resize(before + kBlock - stream_.avail_out);
    return out.size() > before || !finished_;
  }

  std::string name_;
  std::FILE* file_ = nullptr;
  bool packed_ = false;
  bool finished_ = false;
  std::array<std::uint8_t, kBlock> block_{};
  std::size_t at_ = 0, size_ = 0;
  lzma_stream stream_ = LZMA_STREAM_INIT;
};

JsonLines::JsonLines(std::filesystem::path file)
    : file_(std::move(file)), bytes_(std::make_unique<Bytes>(file_)) {}
JsonLines::~JsonLines() = default;

std::string JsonLines::where() const { return fmt::format("{}:{}", file_.string(), line_); }

bool JsonLines::next_line(std::string& line) {
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

bool JsonLines::next(io::Json& object) {
  std::string line;
  while (next_line(line)) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    object = io::parse_json(line, where());
    if (!object.is_object())
      fail(ErrorCode::corrupt, "{}: expected a JSON object, found {}", where(), object.type_name());
    return true;
  }
  return false;
}

}  // namespace mplus::eval
