#include "mplus/documents/charset.h"

#include <iconv.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "mplus/core/text.h"
#include "mplus/io/pretokenizer/unicode.h"

namespace mplus::documents {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

// What browsers know, by iconv's names. A list, since a page must not choose among all that iconv can load.
constexpr std::array<std::string_view, 38> kCharsets{
    "big5",         "euc-jp",       "euc-kr",       "gb18030",      "gb2312",       "gbk",
    "ibm866",       "iso-2022-jp",  "iso-8859-10",  "iso-8859-13",  "iso-8859-14",  "iso-8859-15",
    "iso-8859-16",  "iso-8859-2",   "iso-8859-3",   "iso-8859-4",   "iso-8859-5",   "iso-8859-6",
    "iso-8859-7",   "iso-8859-8",   "koi8-r",       "koi8-u",       "macintosh",    "shift_jis",
    "utf-16be",     "utf-16le",     "windows-1250", "windows-1251", "windows-1252", "windows-1253",
    "windows-1254", "windows-1255", "windows-1256", "windows-1257", "windows-1258", "windows-31j",
    "windows-874",  "windows-949"};

// The word behind `key`, `=` and perhaps a quotation mark; in small letters.
std::string value_of(std::string_view text, std::string_view key) {
  std::string word;
  const auto found = std::search(text.begin(), text.end(), key.begin(), key.end(),
                                 [](char a, char b) { return lower(a) == lower(b); });
  text.remove_prefix(static_cast<std::size_t>(found - text.begin()));
  if (text.empty()) return word;
  text = trim(text.substr(key.size()));
  if (!text.starts_with('=')) return word;
  text = trim(text.substr(1));
  if (text.starts_with('"') || text.starts_with('\'')) text.remove_prefix(1);
  for (const char c : text.substr(0, text.find_first_of("\"'<>;/? \t\r\n"))) word += lower(c);
  return word;
}

std::string stated_charset(std::string_view bytes, std::string_view media_type) {
  constexpr std::size_t kHead = 2048;  // browsers look at 1,024 bytes
  const std::string_view head = bytes.substr(0, kHead);
  std::string charset = value_of(media_type, "charset");
  if (charset.empty()) charset = value_of(head, "charset");
  if (charset.empty() && head.starts_with("<?xml"))
    charset = value_of(head.substr(0, head.find('>')), "encoding");
  // Bytes that are no UTF-8 cannot be ASCII, and pages that say Latin 1 mean its superset.
  for (const std::string_view western : {"", "ascii", "us-ascii", "iso-8859-1", "latin1"})
    if (charset == western) return "windows-1252";
  if (charset == "sjis" || charset == "x-sjis" || charset == "shift-jis") return "windows-31j";
  return charset;
}

// ISO-2022-JP has only bytes of ASCII, so it would pass for UTF-8.
bool is_japanese_in_ascii(std::string_view bytes, std::string_view media_type) {
  return bytes.find('\x1b') != bytes.npos && stated_charset(bytes, media_type) == "iso-2022-jp";
}

class Converter {
 public:
  explicit Converter(const char* charset) : handle_(::iconv_open("UTF-8", charset)) {}
  ~Converter() {
    if (good()) ::iconv_close(handle_);
  }
  Converter(const Converter&) = delete;
  Converter& operator=(const Converter&) = delete;

  bool good() const { return handle_ != reinterpret_cast<iconv_t>(-1); }

  // Bytes that are no characters become U+FFFD, one each.
  std::string convert(std::string_view bytes) {
    std::string out;
    std::array<char, 1 << 14> block{};
    auto* from = const_cast<char*>(bytes.data());
    std::size_t left = bytes.size();
    while (left > 0) {
      char* to = block.data();
      std::size_t room = block.size();
      const std::size_t done = ::iconv(handle_, &from, &left, &to, &room);
      const int reason = errno;
      out.append(block.data(), block.size() - room);
      if (done != static_cast<std::size_t>(-1) || reason == E2BIG) continue;
      out += kReplacement;
      ++from;
      --left;
    }
    return out;
  }

 private:
  iconv_t handle_;
};

std::string convert(const Reading& reading, std::string_view bytes, const std::string& charset) {
  if (charset == "utf-8" || charset == "utf8") return io::to_valid_utf8(bytes);
  const bool known = std::find(kCharsets.begin(), kCharsets.end(), charset) != kCharsets.end();
  Converter converter(known ? charset.c_str() : "");
  if (!known || !converter.good())
    reading.fail(ErrorCode::unsupported, "its character set '{}' is not known here; save it as UTF-8",
                 charset);
  return converter.convert(bytes);
}

}  // namespace

std::string html_as_utf8(const Reading& reading, std::string_view bytes, std::string_view media_type) {
  std::string text;
  if (bytes.starts_with("\xff\xfe")) {
    text = convert(reading, bytes.substr(2), "utf-16le");
  } else if (bytes.starts_with("\xfe\xff")) {
    text = convert(reading, bytes.substr(2), "utf-16be");
  } else if (bytes.starts_with("\xef\xbb\xbf")) {
    text = io::to_valid_utf8(bytes.substr(3));
  } else if (io::valid_utf8_length(bytes, 0) == bytes.size() && !is_japanese_in_ascii(bytes, media_type)) {
    text = bytes;
  } else {
    text = convert(reading, bytes, stated_charset(bytes, media_type));
  }
  std::replace(text.begin(), text.end(), '\0', ' ');  // the parser would stop there
  return text;
}

}  // namespace mplus::documents
