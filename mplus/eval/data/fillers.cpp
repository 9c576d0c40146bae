#include "mplus/eval/data/fillers.h"

#include <unordered_set>

#include "mplus/core/error.h"
#include "mplus/eval/data/order.h"
#include "mplus/io/text/json_lines.h"

namespace mplus::eval {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kChunksPerText =
    32;  // a book gives this many, from its middle: many books, no front matter

// Short texts follow one another, so that a passage is continued by the next; a long one is cut from its
// middle.
class Cutter {
 public:
  Cutter(const Chunker& chunker, std::int64_t least, std::vector<FillerChunk>& out)
      : chunker_(chunker), least_(least), out_(out) {}

  void add(std::string_view text, const std::string& origin) {
    const auto most = static_cast<std::size_t>(kChunksPerText * chunker_.size() * 4);  // in bytes, about
    if (text.size() > 2 * most) {
      waiting_.clear();
      cut(middle(text, most), origin);
      waiting_.clear();
      return;
    }
    if (waiting_.empty()) origin_ = origin;
    else waiting_ += "\n";
    waiting_ += text;
    const std::string whole = std::move(waiting_);
    waiting_ = cut(whole, origin_);
    origin_ = origin;
  }

 private:
  static std::string_view middle(std::string_view text, std::size_t most) {
    std::size_t begin = text.find_first_of(" \n", (text.size() - most) / 2);
    if (begin == std::string_view::npos) begin = 0;
    return text.substr(begin + 1, std::min(most + most / 4, text.size() - begin - 1));
  }
  // Takes whole chunks off; returns the rest.
  std::string cut(std::string_view text, const std::string& origin) {
    for (std::int64_t n = 0; n < kChunksPerText; ++n) {
      const Chunker::Beginning piece = chunker_.first(text);
      if (piece.bytes == 0 || piece.bytes == text.size()) break;  // a rest waits for the next text
      if (piece.tokens >= least_) out_.push_back({std::string(text.substr(0, piece.bytes)), origin});
      text.remove_prefix(piece.bytes);
    }
    return std::string(text);
  }

  const Chunker& chunker_;
  std::int64_t least_;
  std::vector<FillerChunk>& out_;
  std::string waiting_;
  std::string origin_;
};

std::vector<FillerChunk> chunks_of(const fs::path& file, const Chunker& chunker, std::int64_t wanted,
                                   std::int64_t least) {
  std::vector<FillerChunk> chunks;
  Cutter cutter(chunker, least, chunks);
  io::JsonLines lines(file);
  std::unordered_set<std::string> seen;  // several questions share a passage
  io::Json json;
  while (static_cast<std::int64_t>(chunks.size()) < wanted && lines.next(json)) {
    const std::string where = lines.where();
    const io::JsonFields fields(json, where);
    std::optional<std::string> text = fields.string("text");
    if (!text) text = fields.string("context");
    if (!text)
      fail(ErrorCode::corrupt, "{}: expected a text in \"text\" or \"context\", found neither", where);
    if (seen.insert(*text).second) cutter.add(*text, where);
  }
  return chunks;
}

}  // namespace

Fillers::Fillers(const std::vector<fs::path>& files, const Chunker& chunker, std::int64_t chunks,
                 std::int64_t least) {
  if (chunks == 0) return;
  if (files.empty())
    fail(
        ErrorCode::invalid_argument,
        "{} chunks of other text are to be written, and no file of it is named; name some with --distractors",
        chunks);
  const auto share =
      (chunks + static_cast<std::int64_t>(files.size()) - 1) / static_cast<std::int64_t>(files.size());
  for (const fs::path& file : files) {
    files_.push_back(chunks_of(file, chunker, share, least));
    if (static_cast<std::int64_t>(files_.back().size()) < share)
      fail(ErrorCode::not_found,
           "{}: {} chunks of {} tokens are needed from it, found {}; name more text with --distractors",
           file.string(), share, chunker.size(), files_.back().size());
  }
}

std::vector<const FillerChunk*> Fillers::list(std::int64_t n, std::uint64_t seed,
                                              std::uint32_t number) const {
  std::vector<const FillerChunk*> result;
  if (n == 0) return result;
  std::vector<std::vector<std::size_t>> orders;
  for (std::size_t f = 0; f < files_.size(); ++f)
    orders.push_back(
        random_order(files_[f].size(), seed, Choice::filler, number, static_cast<std::uint32_t>(f)));
  for (std::int64_t i = 0; i < n; ++i) {
    const auto f = static_cast<std::size_t>(i) % files_.size();
    const std::size_t at = static_cast<std::size_t>(i) / files_.size();
    MPLUS_CHECK(at < orders[f].size(), "filler {} of {}", at, orders[f].size());
    result.push_back(&files_[f][orders[f][at]]);
  }
  return result;
}

}  // namespace mplus::eval
