#include "mplus/io/text/unpacked_file.h"

#include <lzma.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "mplus/core/error.h"

namespace mplus::io {
namespace {

constexpr std::uint64_t kXzMemory = std::uint64_t{256} << 20;  // as much as xz -9 needs, and some
constexpr std::array<std::uint8_t, 6> kXzMagic{0xfd, '7', 'z', 'X', 'Z', 0x00};
constexpr std::array<std::uint8_t, 4> kZstdMagic{0x28, 0xb5, 0x2f, 0xfd};

template <class Magic>
bool starts_with(std::span<const std::uint8_t> bytes, const Magic& magic) {
  return bytes.size() >= magic.size() && std::equal(magic.begin(), magic.end(), bytes.begin());
}

[[noreturn]] void cut_off(const std::string& name) {
  fail(ErrorCode::corrupt, "{}: the compressed file is cut off", name);
}

}  // namespace

class UnpackedFile::Decoder {
 public:
  virtual ~Decoder() = default;
  // Takes bytes off the front of `in`, fills the front of `out` and shortens both to what is left. An empty
  // `in` says that the file is over. True when everything has come out.
  virtual bool decode(std::span<const std::uint8_t>& in, std::span<std::uint8_t>& out) = 0;
};

class UnpackedFile::XzDecoder final : public Decoder {
 public:
  explicit XzDecoder(const std::string& name) : name_(name) {
    if (lzma_stream_decoder(&stream_, kXzMemory, LZMA_CONCATENATED) != LZMA_OK)
      fail(ErrorCode::io, "{}: cannot start the xz decoder", name_);
  }
  ~XzDecoder() override { lzma_end(&stream_); }

  bool decode(std::span<const std::uint8_t>& in, std::span<std::uint8_t>& out) override {
    stream_.next_in = in.data();
    stream_.avail_in = in.size();
    stream_.next_out = out.data();
    stream_.avail_out = out.size();
    const lzma_ret outcome = lzma_code(&stream_, in.empty() ? LZMA_FINISH : LZMA_RUN);
    in = in.last(stream_.avail_in);
    out = out.last(stream_.avail_out);
    if (outcome == LZMA_BUF_ERROR) cut_off(name_);
    if (outcome == LZMA_MEMLIMIT_ERROR)
      fail(ErrorCode::unsupported,
           "{}: unpacking it takes more than {} MB of memory; pack it with xz -9 or less", name_,
           kXzMemory >> 20);
    if (outcome != LZMA_OK && outcome != LZMA_STREAM_END)
      fail(ErrorCode::corrupt, "{}: not a sound xz file (code {})", name_, static_cast<int>(outcome));
    return outcome == LZMA_STREAM_END;
  }

 private:
  const std::string& name_;
  lzma_stream stream_ = LZMA_STREAM_INIT;
};

class UnpackedFile::ZstdDecoder final : public Decoder {
 public:
  explicit ZstdDecoder(const std::string& name) : name_(name), stream_(ZSTD_createDStream()) {
    if (!stream_) fail(ErrorCode::io, "{}: cannot start the zstd decoder", name_);
  }
  ~ZstdDecoder() override { ZSTD_freeDStream(stream_); }

  bool decode(std::span<const std::uint8_t>& in, std::span<std::uint8_t>& out) override {
    const bool over = in.empty();
    if (over && between_frames_) return true;
    ZSTD_inBuffer from{in.data(), in.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    const std::size_t outcome = ZSTD_decompressStream(stream_, &to, &from);
    if (ZSTD_isError(outcome))
      fail(ErrorCode::corrupt, "{}: not a sound zstd file ({})", name_, ZSTD_getErrorName(outcome));
    between_frames_ = outcome == 0;
    if (over && to.pos == 0 && !between_frames_) cut_off(name_);
    in = in.subspan(from.pos);
    out = out.subspan(to.pos);
    return over && between_frames_;
  }

 private:
  const std::string& name_;
  ZSTD_DStream* stream_;
  bool between_frames_ = true;
};

UnpackedFile::UnpackedFile(const std::filesystem::path& file) : name_(file.string()) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored))
    fail(ErrorCode::invalid_argument, "{}: expected a file, found a folder", name_);
  file_.reset(std::fopen(name_.c_str(), "rb"));
  if (!file_)
    fail(errno == ENOENT ? ErrorCode::not_found : ErrorCode::io, "{}: cannot open: {}", name_,
         std::strerror(errno));
  fill();
  if (starts_with(waiting_, kXzMagic)) decoder_ = std::make_unique<XzDecoder>(name_);
  else if (starts_with(waiting_, kZstdMagic)) decoder_ = std::make_unique<ZstdDecoder>(name_);
}

UnpackedFile::~UnpackedFile() = default;

bool UnpackedFile::append_to(std::string& out) { return decoder_ ? unpack(out) : copy(out); }

void UnpackedFile::fill() {
  waiting_ = {block_.data(), std::fread(block_.data(), 1, block_.size(), file_.get())};
  if (std::ferror(file_.get())) fail(ErrorCode::io, "{}: cannot read: {}", name_, std::strerror(errno));
}

bool UnpackedFile::copy(std::string& out) {
  if (waiting_.empty()) fill();
  out.append(reinterpret_cast<const char*>(waiting_.data()), waiting_.size());
  return !std::exchange(waiting_, {}).empty();
}

bool UnpackedFile::unpack(std::string& out) {
  const std::size_t before = out.size();
  out.resize(before + kBlock);
  std::span<std::uint8_t> space(reinterpret_cast<std::uint8_t*>(out.data()) + before, kBlock);
  while (!space.empty() && !finished_) {
    if (waiting_.empty()) fill();
    finished_ = decoder_->decode(waiting_, space);
  }
  out.resize(out.size() - space.size());
  return out.size() > before;
}

}  // namespace mplus::io
