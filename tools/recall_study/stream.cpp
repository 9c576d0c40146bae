#include "tools/recall_study/stream.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "mplus/core/error.h"
#include "mplus/eval/data/samples.h"
#include "mplus/eval/metric/answer_score.h"

namespace mplus::recall_study {
namespace {

constexpr std::size_t kNear = 2;  // passages before and after that may stand in one chunk with a passage
constexpr std::int64_t kPrefixAt = 100, kPrefixTokens = 24;  // of a book passage: what is given of it

// The longest beginning of a text that is at most `tokens` tokens long, by itself.
std::string first_tokens(const io::Tokenizer& tokenizer, const std::string& text, std::int64_t tokens) {
  const auto encoded = tokenizer.encode_with_offsets(text);
  if (std::ssize(encoded.ids) <= tokens) return text;
  for (std::int64_t n = tokens; n > 0; --n) {
    const auto end = static_cast<std::size_t>(encoded.ends[static_cast<std::size_t>(n - 1)]);
    std::string part = text.substr(0, end);
    if (std::ssize(tokenizer.encode(part)) <= tokens) return part;
  }
  return "";
}

std::string last_tokens(const io::Tokenizer& tokenizer, const std::string& text, std::int64_t tokens) {
  const auto encoded = tokenizer.encode_with_offsets(text);
  const std::int64_t first = std::ssize(encoded.ids) - tokens;
  if (first <= 0) return text;
  std::size_t at = static_cast<std::size_t>(encoded.ends[static_cast<std::size_t>(first - 1)]);
  at = text.find(' ', at);  // at a word
  return at == std::string::npos ? "" : text.substr(at + 1);
}

// Other text, piece by piece: every file in turn, each text from a place of its own.
class Fillers {
 public:
  Fillers(const std::vector<std::filesystem::path>& files, std::mt19937_64& random) : random_(random) {
    if (files.empty())
      fail(ErrorCode::invalid_argument, "no text to stand between the passages: name a file");
    for (const auto& file : files) texts_.push_back(eval::read_fillers(file));
    for (const auto& texts : texts_)
      if (texts.empty()) fail(ErrorCode::invalid_argument, "a filler file holds no text");
  }
  std::string next() {
    const auto& texts = texts_[turn_++ % texts_.size()];
    const std::string& text = texts[random_() % texts.size()].text;
    if (text.size() < 4000) return text;
    std::size_t at = random_() % (text.size() - 3000);
    at = text.find(' ', at);  // at a word, never inside a character
    return text.substr(at == std::string::npos ? 0 : at + 1, 3000);
  }

 private:
  std::mt19937_64& random_;
  std::vector<std::vector<eval::Text>> texts_;
  std::size_t turn_ = 0;
};

class Stream {
 public:
  Stream(const engine::Engine& engine, const StreamFiles& files, std::int64_t questions, std::uint64_t seed)
      : tokenizer_(engine.tokenizer()),
        C_(engine.chunk_tokens()),
        wanted_(questions),
        random_(seed),
        fillers_(files.fillers, random_) {}

  void add_questions(const std::string& set, const std::filesystem::path& file) {
    const std::vector<eval::Question> all = eval::read_questions(file, eval::PassageNeed::required);
    std::vector<std::size_t> first;  // question of each passage, in the order of the file
    for (std::size_t i = 0; i < all.size(); ++i)
      if (i == 0 || all[i].passage != all[i - 1].passage) first.push_back(i);
    std::vector<std::size_t> order(first.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random_);
    std::set<std::size_t> near;  // passages whose text may be in a chunk already
    std::int64_t taken = 0;
    for (const std::size_t place : order) {
      if (taken == wanted_) break;
      const std::size_t end = place + 1 < first.size() ? first[place + 1] : all.size();
      const eval::Question& q = all[first[place] + random_() % (end - first[place])];
      std::string before, after;
      for (std::size_t p = place >= kNear ? place - kNear : 0; p < place; ++p)
        before += all[first[p]].passage + "\n\n";
      for (std::size_t p = place + 1; p < std::min(place + kNear + 1, first.size()); ++p)
        after += "\n\n" + all[first[p]].passage;
      Passage passage{set, q.id, among_neighbours(before, q.passage, after), q.question, q.answers};
      // One question a passage, and the answer must have been read.
      if (near.contains(place) || !eval::contains_gold(passage.text, q.answers)) continue;
      for (std::size_t p = place; p <= place + 2 * kNear; ++p) near.insert(p);
      for (std::size_t p = place; p + 2 * kNear >= place; --p) {
        near.insert(p);
        if (p == 0) break;
      }
      passages_.push_back(std::move(passage));
      ++taken;
    }
    if (taken < wanted_)
      fail(ErrorCode::invalid_argument, "{}: {} passages with their answers wanted, {} found", file.string(),
           wanted_, taken);
  }

  void add_books(const std::filesystem::path& file) {
    std::mt19937_64 random(random_());
    Fillers books({file}, random);
    for (std::int64_t i = 0; i < wanted_; ++i) {
      const std::string text = first_tokens(tokenizer_, books.next(), C_);
      const auto ids = tokenizer_.encode(text);
      if (std::ssize(ids) < kPrefixAt + kPrefixTokens) continue;
      const std::string prefix = tokenizer_.decode(std::span(ids).subspan(kPrefixAt, kPrefixTokens), false);
      passages_.push_back({"books", "book " + std::to_string(i), text, prefix, {}});
    }
  }

  std::vector<Passage> finish(std::int64_t chunks) {
    while (std::ssize(passages_) < chunks) passages_.push_back({"", "", filled(""), "", {}});
    std::shuffle(passages_.begin(), passages_.end(), random_);
    return std::move(passages_);
  }

 private:
  // A chunk with the passage in its middle, as long as the text around it lasts; other text fills the rest.
  std::string among_neighbours(const std::string& before, const std::string& passage,
                               const std::string& after) {
    const std::int64_t room = C_ - std::ssize(tokenizer_.encode(passage));
    if (room <= 0) return first_tokens(tokenizer_, passage, C_);
    return filled(last_tokens(tokenizer_, before, room / 2) + passage + after);
  }

  std::string filled(std::string text) {
    while (std::ssize(tokenizer_.encode(text)) < C_) text += (text.empty() ? "" : "\n\n") + fillers_.next();
    return first_tokens(tokenizer_, text, C_);
  }

  const io::Tokenizer& tokenizer_;
  std::int64_t C_, wanted_;
  std::mt19937_64 random_;
  Fillers fillers_;
  std::vector<Passage> passages_;
};

}  // namespace

std::vector<Passage> make_stream(const engine::Engine& engine, const StreamFiles& files, std::int64_t chunks,
                                 std::int64_t questions, std::uint64_t seed) {
  Stream stream(engine, files, questions, seed);
  for (const auto& [set, file] : files.questions) stream.add_questions(set, file);
  if (!files.books.empty()) stream.add_books(files.books);
  return stream.finish(chunks);
}

}  // namespace mplus::recall_study
