#include "mplus/store/database/mark.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>

#include "mplus/core/error.h"
#include "mplus/core/files/private_file.h"
#include "mplus/io/text/hash.h"
#include "mplus/io/text/json.h"

namespace mplus::store {
namespace {

constexpr std::size_t kRecordBytes = 1024;  // a checksum of 16 digits, a space, JSON, spaces, a line's end
constexpr std::size_t kSumBytes = 16;

class Descriptor {
 public:
  Descriptor(const std::filesystem::path& file, int flags) : value_(open_private(file, flags)) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int value() const { return value_; }

 private:
  int value_;
};

std::string checksum(std::string_view rest) {
  return fmt::format("{:016x}", io::xxh3(std::as_bytes(std::span(rest))));
}

struct Record {
  Mark mark;
  std::int64_t turn = 0;  // rises with every writing
};

std::optional<Record> parse(std::string_view bytes) {
  if (bytes.size() != kRecordBytes || checksum(bytes.substr(kSumBytes)) != bytes.substr(0, kSumBytes))
    return std::nullopt;
  const io::Json json = io::Json::parse(bytes.substr(kSumBytes), nullptr, false);
  if (!json.is_object()) return std::nullopt;
  return Record{{.session = json.value("session", std::int64_t{0}),
                 .name = json.value("name", ""),
                 .event = json.value("event", std::int64_t{-1}),
                 .token = json.value("token", std::int64_t{0}),
                 .checksum = json.value("checksum", std::int64_t{0})},
                json.value("turn", std::int64_t{0})};
}

std::string render(const Mark& mark, std::int64_t turn) {
  const io::Json json{{"session", mark.session}, {"name", mark.name},         {"event", mark.event},
                      {"token", mark.token},     {"checksum", mark.checksum}, {"turn", turn}};
  std::string text = fmt::format(" {}", json.dump(-1, ' ', false, io::Json::error_handler_t::replace));
  MPLUS_CHECK(text.size() < kRecordBytes - kSumBytes, "a mark of {} bytes", text.size());
  text.resize(kRecordBytes - kSumBytes - 1, ' ');
  text += '\n';
  return checksum(text) + text;
}

struct Records {
  std::array<std::optional<Record>, 2> at;
  bool damaged = false;

  explicit Records(int descriptor) {
    std::array<char, 2 * kRecordBytes> bytes{};
    const ssize_t got = descriptor >= 0 ? ::pread(descriptor, bytes.data(), bytes.size(), 0) : 0;
    const std::string_view all(bytes.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
    for (std::size_t i = 0; i < at.size(); ++i) {
      if (all.size() <= i * kRecordBytes) break;
      at[i] = parse(all.substr(i * kRecordBytes, kRecordBytes));
      if (!at[i]) damaged = true;
    }
    if (descriptor >= 0 && all.empty()) damaged = true;
    // The second record is written second, so the first one alone is a file that was written once.
    if (at[0] && !at[1] && at[0]->turn != 0) damaged = true;
  }
  const Record* newest() const {
    if (at[0] && at[1]) return at[0]->turn > at[1]->turn ? &*at[0] : &*at[1];
    return at[0] ? &*at[0] : at[1] ? &*at[1] : nullptr;
  }
};

}  // namespace

MarkFound read_mark(const std::filesystem::path& file) {
  const Descriptor descriptor(file, O_RDONLY);
  const Records records(descriptor.value());
  const Record* newest = records.newest();
  return {newest ? std::optional(newest->mark) : std::nullopt, records.damaged};
}

void write_mark(const std::filesystem::path& file, const Mark& mark, bool sync) {
  const Descriptor descriptor(file, O_RDWR | O_CREAT);
  const auto refuse = [&] {
    fail(ErrorCode::io, "{}: cannot note how far the session has come: {}", file.string(),
         std::strerror(errno));
  };
  if (descriptor.value() < 0) refuse();
  const Records records(descriptor.value());
  const Record* newest = records.newest();
  const std::int64_t turn = newest ? newest->turn + 1 : 0;
  const std::string bytes = render(mark, turn);
  const auto offset = static_cast<off_t>((turn % 2) * static_cast<std::int64_t>(kRecordBytes));
  if (::pwrite(descriptor.value(), bytes.data(), bytes.size(), offset) != static_cast<ssize_t>(bytes.size()))
    refuse();
  if (sync && ::fdatasync(descriptor.value()) != 0) refuse();
}

}  // namespace mplus::store
