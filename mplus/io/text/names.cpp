#include "mplus/io/text/names.h"

#include <fmt/core.h>
#include <utf8proc.h>

namespace mplus::io {
namespace {

constexpr std::size_t kLongestShown = 120;

// Length of the UTF-8 character at the front, or 0 if there is none.
std::size_t utf8_length(std::string_view text) {
  utf8proc_int32_t code = 0;
  const auto n = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                  static_cast<utf8proc_ssize_t>(text.size()), &code);
  return n > 0 ? static_cast<std::size_t>(n) : 0;
}

}  // namespace

bool valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t n = utf8_length(text);
    if (n == 0) return false;
    text.remove_prefix(n);
  }
  return true;
}

std::string shown(std::string_view name) {
  std::string out = "'";
  while (!name.empty()) {
    if (out.size() > kLongestShown) return out + "…'";
    const std::size_t n = utf8_length(name);
    const auto first = static_cast<unsigned char>(name[0]);
    // C1 controls (U+0080…U+009F) are two bytes, the first 0xC2; terminals obey them like ESC [.
    const bool c1 = n == 2 && first == 0xc2 && static_cast<unsigned char>(name[1]) < 0xa0;
    if (n == 0 || first < 0x20 || first == 0x7f || c1) {
      out += fmt::format("\\x{:02x}", c1 ? static_cast<unsigned char>(name[1]) : first);
    } else {
      out += name.substr(0, n);
    }
    name.remove_prefix(n == 0 ? 1 : n);
  }
  return out + "'";
}

}  // namespace mplus::io
