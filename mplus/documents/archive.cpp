#include "mplus/documents/archive.h"

#include <zip.h>

#include <array>

namespace mplus::documents {
namespace {

constexpr zip_int64_t kMostParts = 100'000;

class ZipError {
 public:
  ZipError() { zip_error_init(&error_); }
  ~ZipError() { zip_error_fini(&error_); }
  ZipError(const ZipError&) = delete;
  ZipError& operator=(const ZipError&) = delete;
  zip_error_t* get() { return &error_; }
  const char* text() { return zip_error_strerror(&error_); }

 private:
  zip_error_t error_;
};

struct ClosePart {
  void operator()(zip_file_t* part) const { zip_fclose(part); }
};

}  // namespace

void Archive::Discard::operator()(zip* archive) const { zip_discard(archive); }

Archive::Archive(const Reading& reading, std::string_view bytes) : reading_(reading) {
  ZipError error;
  zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, error.get());
  if (source) archive_.reset(zip_open_from_source(source, ZIP_RDONLY, error.get()));
  if (!archive_) {
    if (source) zip_source_free(source);
    reading_.fail(ErrorCode::corrupt, "not a whole zip archive, which EPUB and .docx are: {}", error.text());
  }
  if (zip_get_num_entries(archive_.get(), 0) > kMostParts)
    reading_.fail(ErrorCode::out_of_capacity, "{} parts in it, at most {}",
                  zip_get_num_entries(archive_.get(), 0), kMostParts);
}

bool Archive::has(const std::string& part) const {
  return zip_name_locate(archive_.get(), part.c_str(), 0) >= 0;
}

std::string Archive::read(const std::string& part) {
  zip_stat_t about;
  zip_stat_init(&about);
  if (zip_stat(archive_.get(), part.c_str(), 0, &about) != 0)
    reading_.fail(ErrorCode::corrupt, "{} is missing in it", part);
  if ((about.valid & ZIP_STAT_ENCRYPTION_METHOD) != 0 && about.encryption_method != ZIP_EM_NONE)
    reading_.fail(ErrorCode::unsupported, "encrypted; save it without a password");
  const std::unique_ptr<zip_file_t, ClosePart> file(zip_fopen_index(archive_.get(), about.index, 0));
  if (!file)
    reading_.fail(ErrorCode::corrupt, "{} in it cannot be unpacked: {}", part, zip_strerror(archive_.get()));
  std::string content;  // grows as it is unpacked: the size an archive states may be a lie
  std::array<char, 1 << 16> block{};
  for (;;) {
    reading_.check_time();
    const zip_int64_t got = zip_fread(file.get(), block.data(), block.size());
    if (got < 0)
      reading_.fail(ErrorCode::corrupt, "{} in it is damaged: {}", part, zip_file_strerror(file.get()));
    if (got == 0) return content;
    unpacked_ += static_cast<std::size_t>(got);
    if (unpacked_ > reading_.limits().unpacked_bytes)
      reading_.fail(ErrorCode::out_of_capacity, "it unpacks to more than {} bytes",
                    reading_.limits().unpacked_bytes);
    content.append(block.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace mplus::documents
