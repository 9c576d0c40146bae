#include "mplus/serve/api/memory/file_pieces.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <vector>

#include "mplus/core/error.h"

namespace mplus::serve {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPiece = 256 * 1024, kBlock = 512;

std::string next_bytes(std::ifstream& in, std::uintmax_t most, const fs::path& file) {
  std::string bytes(static_cast<std::size_t>(std::min<std::uintmax_t>(most, kPiece)), '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (in.gcount() != static_cast<std::streamsize>(bytes.size()))
    fail(ErrorCode::io, "{}: cannot be read", file.string());
  return bytes;
}

// A number of a header: octal, or, where that is too short, in binary as GNU tar has it.
void put_number(std::array<char, kBlock>& header, std::size_t at, std::size_t size, std::uintmax_t value) {
  const std::string octal = fmt::format("{:0{}o}", value, size - 1);
  if (octal.size() < size) {
    std::copy(octal.begin(), octal.end(), header.begin() + static_cast<std::ptrdiff_t>(at));
    return;
  }
  header[at] = static_cast<char>(0x80);
  for (std::size_t i = size - 1; i > 0; --i, value >>= 8)
    header[at + i] = static_cast<char>(static_cast<unsigned char>(value & 0xff));
}

std::string tar_header(const std::string& name, std::uintmax_t size) {
  constexpr std::size_t kLongest = 100;
  if (name.size() > kLongest) fail(ErrorCode::unsupported, "{}: too long a name for an archive", name);
  std::array<char, kBlock> header{};
  const auto put = [&](std::size_t at, std::string_view text) {
    std::copy(text.begin(), text.end(), header.begin() + static_cast<std::ptrdiff_t>(at));
  };
  put(0, name);
  put_number(header, 100, 8, 0600);  // mode
  put_number(header, 108, 8, 0);     // owner
  put_number(header, 116, 8, 0);     // group
  put_number(header, 124, 12, size);
  put_number(header, 136, 12, 0);  // time
  put(156, "0");                   // a plain file
  put(257, std::string_view("ustar\00000", 8));
  put(148, "        ");  // the sum is taken with blanks in its own place
  const std::uintmax_t sum =
      std::accumulate(header.begin(), header.end(), std::uintmax_t{0},
                      [](std::uintmax_t all, char c) { return all + static_cast<unsigned char>(c); });
  put(148, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  return {header.begin(), header.end()};
}

class TarPieces {
 public:
  TarPieces(fs::path folder, std::string name, std::shared_ptr<Transit> kept)
      : folder_(std::move(folder)), name_(std::move(name)), kept_(std::move(kept)) {
    for (const auto& entry : fs::recursive_directory_iterator(folder_))
      if (entry.is_regular_file()) files_.push_back(entry.path());
    std::sort(files_.begin(), files_.end(), std::greater<>());  // taken from the end
  }

  std::string next() {
    if (left_ > 0) return content();
    if (!files_.empty()) return begin_file();
    return std::exchange(ended_, true) ? "" : std::string(2 * kBlock, '\0');
  }

 private:
  std::string begin_file() {
    file_ = std::move(files_.back());
    files_.pop_back();
    left_ = fs::file_size(file_);
    padding_ = static_cast<std::size_t>((kBlock - left_ % kBlock) % kBlock);
    in_ = std::ifstream(file_, std::ios::binary);
    return tar_header(name_ + "/" + fs::relative(file_, folder_).generic_string(), left_);
  }
  std::string content() {
    std::string bytes = next_bytes(in_, left_, file_);
    left_ -= bytes.size();
    if (left_ == 0) bytes.append(padding_, '\0');
    return bytes;
  }

  fs::path folder_, file_;
  std::string name_;
  std::shared_ptr<Transit> kept_;
  std::vector<fs::path> files_;
  std::ifstream in_;
  std::uintmax_t left_ = 0;
  std::size_t padding_ = 0;
  bool ended_ = false;
};

}  // namespace

Transit::Transit() {
  std::string name = (fs::temp_directory_path() / "mplus-XXXXXX").string();
  if (!::mkdtemp(name.data())) fail(ErrorCode::io, "cannot make a folder for a file in {}", name);
  folder_ = name;
}

Transit::~Transit() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

PieceSource file_pieces(const fs::path& file, std::shared_ptr<Transit> kept) {
  const auto in = std::make_shared<std::ifstream>(file, std::ios::binary);
  return [in, file, kept = std::move(kept), left = fs::file_size(file)]() mutable {
    std::string bytes = next_bytes(*in, left, file);
    left -= bytes.size();
    return bytes;
  };
}

PieceSource tar_pieces(const fs::path& folder, const std::string& name, std::shared_ptr<Transit> kept) {
  return [pieces = std::make_shared<TarPieces>(folder, name, std::move(kept))] { return pieces->next(); };
}

}  // namespace mplus::serve
