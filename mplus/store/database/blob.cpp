#include "mplus/store/database/blob.h"

#include <zstd.h>

#include <bit>
#include <cstring>

#include "mplus/core/error.h"
#include "mplus/io/text/hash.h"

namespace mplus::store {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are stored as they lie in memory");

constexpr int kLevel = 3;
constexpr std::size_t kMostBytes = std::size_t{1} << 31;
constexpr std::size_t kMostOfAByte = std::size_t{1} << 15;  // zstd: four bytes say a block of 128 KiB at most

template <class T>
std::vector<T> numbers(std::span<const std::byte> packed, std::string_view what) {
  const std::vector<std::byte> bytes = unpack(packed, kMostBytes, what);
  if (bytes.size() % sizeof(T) != 0)
    fail(ErrorCode::corrupt, "{}: {} bytes are no list of {}-byte numbers", what, bytes.size(), sizeof(T));
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

}  // namespace

std::vector<std::byte> pack(std::span<const std::byte> bytes) {
  std::vector<std::byte> packed(ZSTD_compressBound(bytes.size()));
  const std::size_t size = ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), kLevel);
  MPLUS_CHECK(!ZSTD_isError(size), "zstd: {}", ZSTD_getErrorName(size));
  packed.resize(size);
  return packed;
}

std::vector<std::byte> unpack(std::span<const std::byte> packed, std::size_t most, std::string_view what) {
  const unsigned long long size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > most ||
      size / kMostOfAByte > packed.size())
    fail(ErrorCode::corrupt, "{}: not compressed bytes of a sensible size", what);
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  const std::size_t got = ZSTD_decompress(bytes.data(), bytes.size(), packed.data(), packed.size());
  if (ZSTD_isError(got) || got != bytes.size())
    fail(ErrorCode::corrupt, "{}: damaged: {}", what,
         ZSTD_isError(got) ? ZSTD_getErrorName(got) : "shorter than it says");
  return bytes;
}

std::vector<std::byte> pack_text(std::string_view text) { return pack(std::as_bytes(std::span(text))); }

std::string unpack_text(std::span<const std::byte> packed, std::string_view what) {
  const std::vector<std::byte> bytes = unpack(packed, kMostBytes, what);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::byte> pack_ids(std::span<const io::TokenId> ids) {
  static_assert(sizeof(io::TokenId) == 4);
  return pack(std::as_bytes(ids));
}

std::vector<io::TokenId> unpack_ids(std::span<const std::byte> packed, std::string_view what) {
  return numbers<io::TokenId>(packed, what);
}

std::vector<std::byte> pack_births(std::span<const std::vector<std::int64_t>> births) {
  std::vector<std::int64_t> values;
  for (const std::vector<std::int64_t>& layer : births) {
    values.push_back(static_cast<std::int64_t>(layer.size()));
    std::uint64_t before = 0;  // wraps, as it does when they are read
    for (const std::int64_t birth : layer) {
      values.push_back(static_cast<std::int64_t>(static_cast<std::uint64_t>(birth) - before));
      before = static_cast<std::uint64_t>(birth);
    }
  }
  return pack(std::as_bytes(std::span(values)));
}

std::vector<std::vector<std::int64_t>> unpack_births(std::span<const std::byte> packed,
                                                     std::string_view what) {
  const std::vector<std::int64_t> values = numbers<std::int64_t>(packed, what);
  std::vector<std::vector<std::int64_t>> births;
  for (std::size_t at = 0; at < values.size();) {
    const std::int64_t count = values[at++];
    if (count < 0 || static_cast<std::size_t>(count) > values.size() - at)
      fail(ErrorCode::corrupt, "{}: a layer of {} births does not fit", what, count);
    std::vector<std::int64_t>& layer = births.emplace_back();
    std::uint64_t birth = 0;  // wraps instead of overflowing where the numbers make no sense
    for (std::int64_t i = 0; i < count; ++i) {
      birth += static_cast<std::uint64_t>(values[at++]);
      layer.push_back(static_cast<std::int64_t>(birth));
    }
  }
  return births;
}

std::string sha256_of(std::string_view text) { return io::sha256_hex(std::as_bytes(std::span(text))); }
std::string sha256_of(std::span<const io::TokenId> ids) { return io::sha256_hex(std::as_bytes(ids)); }

}  // namespace mplus::store
