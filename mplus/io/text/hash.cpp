#include "mplus/io/text/hash.h"

#include <fmt/core.h>
#include <openssl/evp.h>
#include <xxhash.h>

#include <memory>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"

namespace mplus::io {

std::string sha256_hex(std::span<const std::byte> bytes) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  const bool good = context != nullptr && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1 &&
                    EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()) == 1 &&
                    EVP_DigestFinal_ex(context.get(), digest, &size) == 1;
  if (!good) fail(ErrorCode::io, "SHA-256: OpenSSL refused to compute it");
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

std::string sha256_hex(const std::filesystem::path& file) {
  return sha256_hex(MappedFile::open(file)->bytes());
}

std::uint64_t xxh3(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace mplus::io
