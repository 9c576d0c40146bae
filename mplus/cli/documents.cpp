#include "mplus/cli/documents.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "mplus/core/error.h"
#include "mplus/core/file.h"
#include "mplus/core/text.h"
#include "mplus/io/pretokenizer/unicode.h"

namespace mplus::cli {
namespace {

namespace fs = std::filesystem;

bool is_text_name(const fs::path& path) {
  constexpr std::array<std::string_view, 4> kEndings{".txt", ".text", ".md", ".markdown"};
  std::string ending = path.extension().string();
  for (char& c : ending) c = lower(c);
  return std::find(kEndings.begin(), kEndings.end(), ending) != kEndings.end();
}

Document checked(std::string name, std::string text) {
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);  // a byte order mark is no part of the text
  const std::size_t zero = text.find('\0');
  const std::size_t valid = io::valid_utf8_length(text, 0);
  if (zero < valid)
    fail(ErrorCode::unsupported, "{}: not a text: it has a zero byte at {} (binary, or UTF-16?)", name, zero);
  if (valid < text.size())
    fail(ErrorCode::unsupported, "{}: not a text in UTF-8: byte {} is 0x{:02x}", name, valid,
         static_cast<unsigned char>(text[valid]));
  if (text.find_first_not_of(" \t\r\n\f\v") == std::string::npos)
    fail(ErrorCode::invalid_argument, "{}: empty: there is nothing to read in it", name);
  return {std::move(name), std::move(text)};
}

// Looks through a folder; what cannot be looked into is rejected, not passed over in silence.
class Folder {
 public:
  explicit Folder(Documents& found) : found_(found) {}

  void walk(const fs::path& folder) {
    std::error_code error;
    std::vector<fs::path> entries;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
      entries.push_back(at->path());
    if (error) reject(folder, fmt::format("{}: cannot look into it: {}", folder.string(), error.message()));
    std::sort(entries.begin(), entries.end());
    for (const fs::path& entry : entries) {
      if (entry.filename().string().starts_with('.')) continue;
      const fs::file_status linked = fs::symlink_status(entry, error);
      if (fs::is_directory(linked)) {  // not through links: they may lead back here
        walk(entry);
      } else if (is_text_name(entry)) {
        files.push_back(entry.string());
      }
    }
  }
  std::vector<std::string> files;

 private:
  void reject(const fs::path& path, std::string reason) {
    found_.rejected.push_back({path.string(), std::move(reason)});
  }
  Documents& found_;
};

}  // namespace

std::string read_standard_input() {
  std::string text;
  std::array<char, 1 << 16> block{};
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(ErrorCode::io, "standard input: cannot read: {}", std::strerror(errno));
    if (got == 0) return text;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
}

Document read_document(const std::string& place, const std::string& standard_input_name) {
  if (place == "-") return checked(standard_input_name, read_standard_input());
  std::error_code error;
  const fs::file_status status = fs::status(place, error);
  if (!fs::exists(status)) fail(ErrorCode::not_found, "{}: there is no such file", place);
  if (fs::is_directory(status)) fail(ErrorCode::invalid_argument, "{}: a folder; expected a file", place);
  return checked(place, read_text_file(place));
}

Documents read_documents(const std::vector<std::string>& places, const std::string& standard_input_name) {
  Documents documents;
  for (const std::string& place : places) {
    std::vector<std::string> files{place};
    std::error_code error;
    if (place != "-" && fs::is_directory(place, error)) {
      Folder folder(documents);
      folder.walk(place);
      files = folder.files;
      if (files.empty())
        documents.rejected.push_back(
            {place, fmt::format("{}: there is no text or Markdown file in this folder", place)});
    }
    for (const std::string& file : files) {
      try {
        documents.accepted.push_back(read_document(file, standard_input_name));
      } catch (const Error& e) {
        documents.rejected.push_back({file == "-" ? standard_input_name : file, e.what()});
      }
    }
  }
  return documents;
}

}  // namespace mplus::cli
