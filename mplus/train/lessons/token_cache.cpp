#include "mplus/train/lessons/token_cache.h"

#include <bit>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/io/text/hash.h"

namespace mplus::train {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "numbers are stored as they lie in memory");

constexpr int kCacheVersion = 1;  // of the format and of what goes into it; another one makes all files anew

struct Header {
  char magic[8] = {'m', 'p', 'l', 'u', 's', 't', 'o', 'k'};
  std::uint64_t size_bytes = 0;  // of what follows
  std::uint64_t hash = 0;        // of what follows
};
static_assert(sizeof(Header) == 24);

// What a set consists of is said once, in `visit`: Writer and CacheReader take the same calls.
class Writer {
 public:
  template <class T>
  void number(const T& value) {
    static_assert(std::is_integral_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <class T>
  void numbers(const std::vector<T>& values) {
    static_assert(std::is_integral_v<T>);
    number(std::uint64_t{values.size()});
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
  void text(const std::string& value) {
    number(std::uint64_t{value.size()});
    bytes_ += value;
  }
  template <class T, class Each>
  void list(const std::vector<T>& items, const Each& each) {
    number(std::uint64_t{items.size()});
    for (const T& item : items) each(item);
  }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(bytes_)); }

 private:
  std::string bytes_;
};

class CacheReader {
 public:
  explicit CacheReader(std::span<const std::byte> bytes) : left_(bytes) {}

  template <class T>
  void number(T& value) {
    std::memcpy(&value, take(sizeof value), sizeof value);
  }
  template <class T>
  void numbers(std::vector<T>& values) {
    values.resize(count(sizeof(T)));
    if (!values.empty())
      std::memcpy(values.data(), take(values.size() * sizeof(T)), values.size() * sizeof(T));
  }
  void text(std::string& value) {
    const std::size_t size = count(1);
    value.assign(reinterpret_cast<const char*>(take(size)), size);
  }
  template <class T, class Each>
  void list(std::vector<T>& items, const Each& each) {
    items.resize(count(1));
    for (T& item : items) each(item);
  }
  bool finished() const { return left_.empty(); }

 private:
  const std::byte* take(std::size_t size) {
    if (size > left_.size()) fail(ErrorCode::corrupt, "{} bytes are left, {} needed", left_.size(), size);
    const std::byte* const at = left_.data();
    left_ = left_.subspan(size);
    return at;
  }
  // Of items that take at least `least` bytes each: more than can be there are not made room for.
  std::size_t count(std::size_t least) {
    std::uint64_t n = 0;
    number(n);
    if (n > left_.size() / least) fail(ErrorCode::corrupt, "{} bytes are left, {} items", left_.size(), n);
    return static_cast<std::size_t>(n);
  }

  std::span<const std::byte> left_;
};

constexpr std::string_view kind(const TextSet&) { return "text"; }
constexpr std::string_view kind(const QuestionSet&) { return "questions"; }

template <class Archive, class Set>
void visit_set(Archive& archive, Set& set) {
  if constexpr (std::is_same_v<std::remove_const_t<Set>, TextSet>) {
    archive.numbers(set.tokens);
    archive.numbers(set.starts);
    archive.numbers(set.hashes);
  } else {
    archive.numbers(set.tokens);
    archive.list(set.passages, [&](auto& passage) {
      archive.number(passage.start);
      archive.number(passage.length);
      archive.number(passage.article);
      archive.number(passage.hash);
    });
    archive.list(set.questions, [&](auto& question) {
      archive.number(question.passage);
      archive.text(question.question);
      archive.text(question.answer);
    });
  }
}

template <class Archive, class Content>
void visit(Archive& archive, Content& content) {
  archive.list(content.bad_lines, [&](auto& line) { archive.text(line); });
  visit_set(archive, content.set);
}

}  // namespace

template <class Set>
fs::path cache_file(const fs::path& folder, const CacheKey& key) {
  return folder / fmt::format("{}-{}-{:016x}.{}-{}", key.name, key.sha256.substr(0, 16), key.tokenizer,
                              kind(Set{}), kCacheVersion);
}

template <class Set>
std::optional<Cached<Set>> read_cache(const fs::path& folder, const CacheKey& key) try {
  const auto file = MappedFile::open(cache_file<Set>(folder, key));
  Header header, expected;
  if (file->bytes().size() < sizeof header) return std::nullopt;
  std::memcpy(&header, file->bytes().data(), sizeof header);
  const std::span<const std::byte> rest = file->bytes().subspan(sizeof header);
  if (std::memcmp(header.magic, expected.magic, sizeof header.magic) != 0 ||
      header.size_bytes != rest.size() || header.hash != io::xxh3(rest))
    return std::nullopt;
  CacheReader reader(rest);
  CacheKey found = key;
  reader.text(found.sha256);
  reader.number(found.tokenizer);
  if (found.sha256 != key.sha256 || found.tokenizer != key.tokenizer) return std::nullopt;
  Cached<Set> content;
  visit(reader, content);
  if (!reader.finished()) return std::nullopt;
  content.set.name = key.name;
  content.set.sha256 = key.sha256;
  return content;
} catch (const Error&) {
  return std::nullopt;  // not there, or not to be read: it is made anew
}

template <class Set>
void write_cache(const fs::path& folder, const CacheKey& key, const Cached<Set>& content) {
  Writer writer;
  writer.text(key.sha256);
  writer.number(key.tokenizer);
  visit(writer, content);
  Header header;
  header.size_bytes = writer.bytes().size();
  header.hash = io::xxh3(writer.bytes());
  std::error_code ignored;  // what matters is whether the file can be made
  fs::create_directories(folder, ignored);
  AtomicFile file(cache_file<Set>(folder, key), Readers::by_umask);
  file.write(&header, sizeof header);
  file.write(writer.bytes());
  file.commit();
}

template fs::path cache_file<TextSet>(const fs::path&, const CacheKey&);
template fs::path cache_file<QuestionSet>(const fs::path&, const CacheKey&);
template std::optional<Cached<TextSet>> read_cache<TextSet>(const fs::path&, const CacheKey&);
template std::optional<Cached<QuestionSet>> read_cache<QuestionSet>(const fs::path&, const CacheKey&);
template void write_cache<TextSet>(const fs::path&, const CacheKey&, const Cached<TextSet>&);
template void write_cache<QuestionSet>(const fs::path&, const CacheKey&, const Cached<QuestionSet>&);

}  // namespace mplus::train
