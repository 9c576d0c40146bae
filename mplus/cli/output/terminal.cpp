#include "mplus/cli/output/terminal.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>

#include "mplus/io/pretokenizer/unicode.h"

namespace mplus::cli {
namespace {

Terminal terminal_of(int descriptor) {
  Terminal terminal;
  terminal.is_terminal = ::isatty(descriptor) == 1;
  if (!terminal.is_terminal) return terminal;
  const char* no_color = std::getenv("NO_COLOR");
  const char* kind = std::getenv("TERM");
  const bool dumb = kind == nullptr || std::string_view(kind) == "dumb" || *kind == '\0';
  terminal.colours = !dumb && (no_color == nullptr || *no_color == '\0');
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    terminal.width = std::max<int>(size.ws_col, 20);
  return terminal;
}

bool is_control(char32_t c) { return c < 0x20 || (c >= 0x7f && c < 0xa0); }

// Calls f(text of one character, code point), U+FFFD for what is no UTF-8.
template <class F>
void for_each_character(std::string_view text, F&& f) {
  for (std::size_t at = 0; at < text.size();) {
    const io::Utf8Step step = io::utf8_step(text, at);
    if (step.validity == io::Utf8Step::Validity::valid) {
      f(text.substr(at, step.length), step.code_point);
    } else {
      f(std::string_view("\xef\xbf\xbd"), U'\ufffd');
    }
    at += step.length;
  }
}

int width_of(char32_t c) { return std::max(0, utf8proc_charwidth(static_cast<utf8proc_int32_t>(c))); }

}  // namespace

std::string Terminal::styled(Style style, std::string_view text) const {
  if (!colours || style == Style::plain) return std::string(text);
  const char* code = style == Style::bold  ? "1"
                     : style == Style::dim ? "2"
                     : style == Style::red ? "31"
                                           : "32";
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

Terminal standard_output() { return terminal_of(STDOUT_FILENO); }
Terminal standard_error() { return terminal_of(STDERR_FILENO); }

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for_each_character(text, [&](std::string_view bytes, char32_t c) {
    if (is_control(c) && c != '\n' && c != '\t') {
      out += fmt::format("\\x{:02x}", static_cast<std::uint32_t>(c));
    } else {
      out += bytes;
    }
  });
  return out;
}

std::string one_line(std::string_view text, int width) {
  std::string out;
  std::string cut;  // what fits with an ellipsis behind it
  int used = 0;
  bool space = false;
  bool full = false;
  for_each_character(text, [&](std::string_view bytes, char32_t c) {
    if (full) return;
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      space = !out.empty();
      return;
    }
    std::string piece = space ? " " : "";
    piece += is_control(c) ? fmt::format("\\x{:02x}", static_cast<std::uint32_t>(c)) : std::string(bytes);
    space = false;
    used += columns(piece);
    if (used > width) {
      full = true;
      return;
    }
    out += piece;
    if (used < width) cut = out;
  });
  return full ? cut + "…" : out;
}

int columns(std::string_view text) {
  int used = 0;
  for_each_character(text, [&](std::string_view, char32_t c) { used += width_of(c); });
  return used;
}

}  // namespace mplus::cli
