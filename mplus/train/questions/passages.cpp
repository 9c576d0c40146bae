#include "mplus/train/questions/passages.h"

#include <algorithm>
#include <unordered_set>

#include "mplus/core/error.h"
#include "mplus/core/text.h"
#include "mplus/io/text/json_lines.h"
#include "mplus/train/lessons/token_data.h"

namespace mplus::train {
namespace {

constexpr std::size_t kLeast = 300, kMost = 1000;  // bytes of a passage: 60 to 230 tokens
constexpr std::size_t kLongLine = 120;             // a line of so many may be a paragraph
constexpr std::string_view kSpace = " \t\r\n";

bool is_prose_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80) != 0; }
bool is_small(char c) { return c >= 'a' && c <= 'z'; }

// Mostly words and spaces, no marks of a table, of code or of a heading, and it ends as a sentence does.
bool is_prose(std::string_view paragraph) {
  constexpr std::string_view kMarks = "|{}<>`*_#\\=[]~^";
  constexpr std::string_view kEnds = ".!?\"')";
  const auto share = [&](auto of) {
    return static_cast<double>(std::count_if(paragraph.begin(), paragraph.end(), of)) /
           static_cast<double>(paragraph.size());
  };
  const bool ends_well =
      kEnds.find(paragraph.back()) != kEnds.npos || (paragraph.back() & 0x80) != 0;  // or in curved quotes
  return ends_well && share(is_prose_letter) > 0.65 &&
         share([&](char c) { return kMarks.find(c) != kMarks.npos; }) < 0.005 &&
         share([](char c) { return c == ' ' || c == '\n'; }) > 0.1;
}

// Where the sentence that goes on at `from` ends: behind its full stop; the end of the text at the latest.
std::size_t sentence_end(std::string_view text, std::size_t from) {
  for (std::size_t i = from; i + 2 < text.size(); ++i)
    if ((text[i] == '.' || text[i] == '!' || text[i] == '?') && (i == 0 || is_small(text[i - 1])) &&
        kSpace.find(text[i + 1]) != kSpace.npos && !is_small(text[i + 2]))
      return i + 1;
  return text.size();
}

// Prose in a row, cut at the ends of sentences into pieces of about the same size.
void cut(std::string_view prose, std::vector<std::string>& out) {
  const std::size_t pieces = (prose.size() + kMost - 1) / kMost;
  const std::size_t wanted = prose.size() / std::max<std::size_t>(1, pieces);
  std::size_t start = 0;
  while (start < prose.size()) {
    std::size_t end = start;
    while (end < prose.size()) {
      const std::size_t next = sentence_end(prose, end);
      if (end > start && next - start > kMost) break;
      end = next;
      if (end - start >= wanted) break;
    }
    const std::string_view piece = trim(prose.substr(start, end - start));
    if (piece.size() >= kLeast && piece.size() <= kMost) out.emplace_back(piece);
    start = end;
  }
}

// Parts between separators, without the space around them.
template <class Take>
void for_each_part(std::string_view text, std::string_view separator, const Take& take) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    const std::string_view part = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + separator.size(), text.size()));
    if (!part.empty()) take(part);
  }
}

// Texts of one kind repeat whole sentences: a passage that begins or ends like an earlier one is none.
class Heard {
 public:
  bool before(std::string_view passage) {
    const bool begin = seen_.insert(std::string(passage.substr(0, kSame))).second;
    const bool end = seen_.insert(std::string(passage.substr(passage.size() - kSame))).second;
    return !begin || !end;
  }

 private:
  static constexpr std::size_t kSame = 48;
  static_assert(kSame <= kLeast);
  std::unordered_set<std::string> seen_;
};

std::string text_of(const io::JsonFields& fields) {
  for (const std::string_view key : {"text", "context"})
    if (auto text = fields.string(key)) return std::move(*text);
  const io::Json* answers = fields.find("answers");
  if (answers && answers->is_array() && !answers->empty() && answers->front().is_string())
    return answers->front().get<std::string>();
  return {};
}

}  // namespace

std::vector<std::string> passages_of(std::string_view text) {
  std::vector<std::string> out;
  std::string prose;  // paragraphs in a row
  const auto flush = [&] {
    cut(prose, out);
    prose.clear();
  };
  const auto take = [&](std::string_view paragraph) {
    if (!prose.empty()) prose += "\n\n";
    prose += paragraph;
    if (prose.size() >= kLeast) flush();
  };
  for_each_part(text, "\n\n", [&](std::string_view paragraph) {
    if (is_prose(paragraph)) return take(paragraph);
    flush();
    // Maybe a paragraph a line.
    for_each_part(paragraph, "\n", [&](std::string_view line) {
      if (line.size() >= kLongLine && is_prose(line)) take(line);
    });
    flush();
  });
  flush();
  return out;
}

std::vector<TextPassage> read_passages(const std::filesystem::path& file, std::int64_t most) {
  const std::string name = file.filename().string(), source = name.substr(0, name.find('.', 1));
  std::vector<TextPassage> all;
  Heard heard;
  io::JsonLines lines(file);
  for (io::Json line; lines.next(line);) {
    const std::string where = lines.where();
    const io::JsonFields fields(line, where);
    const std::string text = text_of(fields);
    if (text.empty() || held_out(text)) continue;
    for (std::string& passage : passages_of(text))
      if (!heard.before(passage))
        all.push_back({source, fields.string("title").value_or(""), std::move(passage)});
  }
  if (all.empty())
    fail(ErrorCode::corrupt,
         "{}: expected texts with paragraphs of prose, one JSON object a line; found none", file.string());
  const auto wanted = static_cast<std::size_t>(most);
  if (all.size() <= wanted) return all;
  std::vector<TextPassage> spread;
  for (std::size_t i = 0; i < wanted; ++i) spread.push_back(std::move(all[i * all.size() / wanted]));
  return spread;
}

}  // namespace mplus::train
