#include "mplus/cli/documents.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/documents/document.h"

namespace mplus::cli {
namespace {

namespace fs = std::filesystem;

struct Bytes {
  std::string name;
  std::string content;
};

Bytes read_bytes(const std::string& place, const std::string& standard_input_name) {
  if (place == "-") return {standard_input_name, read_standard_input()};
  std::error_code error;
  const fs::file_status status = fs::status(place, error);
  if (!fs::exists(status)) fail(ErrorCode::not_found, "{}: there is no such file", place);
  if (fs::is_directory(status)) fail(ErrorCode::invalid_argument, "{}: a folder; expected a file", place);
  return {place, read_text_file(place)};
}

Document read_document(const std::string& place, const std::string& standard_input_name) {
  const Bytes bytes = read_bytes(place, standard_input_name);
  const documents::DocumentKind kind = documents::document_kind(bytes.name, "", bytes.content);
  return {bytes.name, documents::document_text(bytes.content, kind, bytes.name)};
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
      } else if (documents::is_document_name(entry.filename().string())) {
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

Document read_text(const std::string& place, const std::string& standard_input_name) {
  const Bytes bytes = read_bytes(place, standard_input_name);
  return {bytes.name, documents::document_text(bytes.content, documents::DocumentKind::text, bytes.name)};
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
            {place,
             fmt::format("{}: there is no document in this folder (text, Markdown, HTML, PDF, EPUB, .docx)",
                         place)});
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
