#include "mplus/serve/http/message.h"

#include "mplus/core/text.h"

namespace mplus::serve {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> decoded(std::string_view text, bool plus_is_space) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

// What stands before `separator`, which is taken off `rest` with it.
std::string_view cut(std::string_view& rest, std::string_view separator) {
  const std::size_t at = std::min(rest.find(separator), rest.size());
  const std::string_view piece = rest.substr(0, at);
  rest.remove_prefix(std::min(rest.size(), at + separator.size()));
  return piece;
}

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = lower(c);
  return out;
}

// `; name="value"` of a header; empty: there is none.
std::string parameter(std::string_view header, std::string_view name) {
  std::string_view rest = header;
  cut(rest, ";");
  while (!rest.empty()) {
    std::string_view item = trim(cut(rest, ";"));
    if (lowered(cut(item, "=")) != name) continue;
    if (item.size() >= 2 && item.front() == '"' && item.back() == '"') item = item.substr(1, item.size() - 2);
    return std::string(item);
  }
  return "";
}

struct FormPart {
  std::string disposition, type;
  std::string_view bytes;
};

std::optional<FormPart> form_part(std::string_view text) {
  FormPart part;
  for (;;) {
    if (text.find("\r\n") == std::string_view::npos) return std::nullopt;
    std::string_view line = cut(text, "\r\n");
    if (line.empty()) break;
    const std::string name = lowered(trim(cut(line, ":")));
    if (name == "content-disposition") part.disposition = trim(line);
    if (name == "content-type") part.type = trim(line);
  }
  part.bytes = text;
  return part;
}

}  // namespace

bool parse_target(std::string_view target, Request& request) {
  if (!target.starts_with('/')) return false;
  std::string_view rest = target;
  std::string_view path = cut(rest, "?");
  const auto whole = decoded(path, false);
  if (!whole) return false;
  request.path = *whole;
  path.remove_prefix(1);
  while (!path.empty()) request.segments.push_back(*decoded(cut(path, "/"), false));
  while (!rest.empty()) {
    std::string_view item = cut(rest, "&");
    const auto name = decoded(cut(item, "="), true), value = decoded(item, true);
    if (!name || !value) return false;
    if (!name->empty()) request.query[*name] = *value;
  }
  return true;
}

std::optional<FormFile> form_file(std::string_view content_type, std::string_view body) {
  const std::string boundary = parameter(content_type, "boundary");
  if (boundary.empty()) return std::nullopt;
  const std::string line = "\r\n--" + boundary;
  // The first boundary has no line before it.
  if (body.starts_with(line.substr(2))) {
    body.remove_prefix(line.size() - 2);
  } else {
    cut(body, line);
  }
  while (!body.empty() && !body.starts_with("--")) {
    cut(body, "\r\n");
    if (body.find(line) == std::string_view::npos) return std::nullopt;  // the form ends in the middle
    const auto part = form_part(cut(body, line));
    if (!part) return std::nullopt;
    const std::string file = parameter(part->disposition, "filename");
    if (!file.empty() || parameter(part->disposition, "name") == "text")
      return FormFile{file, part->type, std::string(part->bytes)};
  }
  return std::nullopt;
}

}  // namespace mplus::serve
