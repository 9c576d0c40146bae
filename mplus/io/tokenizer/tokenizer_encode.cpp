// Text to ids. The order is that of `tokenizers`: added tokens in the text as it is, normalisation, added
// tokens in the normalised text, cutting into pieces, byte-pair encoding of each piece.
#include "mplus/core/error.h"
#include "mplus/io/pretokenizer/unicode.h"
#include "mplus/io/tokenizer/tokenizer_data.h"

namespace mplus::io {
namespace {

constexpr std::size_t kLongestText = INT32_MAX;  // positions are 32 bits wide

}  // namespace

class Tokenizer::Encoder final : public PreTokenizer::Sink {
 public:
  Encoder(const Data& data, bool specials, bool offsets)
      : data_(data), specials_(specials), offsets_(offsets) {}

  void run(std::string_view text) {
    if (text.size() > kLongestText)
      fail(ErrorCode::out_of_capacity, "{}: text: expected at most {} bytes at once, found {}", data_.name,
           kLongestText, text.size());
    out_.ids.reserve(text.size() / 4);
    cut_added(data_.added, text, 0,
              [this](std::string_view part, std::size_t begin) { normalise(part, begin); });
  }

  void piece(std::string_view bytes, std::int64_t begin) override {
    if (data_.ignore_merges) {
      const TokenId whole = data_.vocabulary.find(bytes);
      if (whole >= 0) return put(whole, begin + static_cast<std::int64_t>(bytes.size()));
    }
    for (const BpeToken& token : data_.bpe.encode(bytes, scratch_)) put(token.id, begin + token.end);
  }

  Offsets take() { return std::move(out_); }

 private:
  template <class Text>
  void cut_added(const AddedTokens& added, std::string_view text, std::size_t begin, Text&& between) {
    if (!added.any(specials_)) return between(text, begin);
    for (std::size_t at = 0; at < text.size();) {
      const AddedTokens::Stretch part = added.next(text, at, specials_);
      if (part.id) {
        put(*part.id, static_cast<std::int64_t>(begin + part.end));
      } else {
        between(text.substr(part.begin, part.end - part.begin), begin + part.begin);
      }
      at = part.end;
    }
  }

  void normalise(std::string_view text, std::size_t begin) {
    const auto split = [this](std::string_view part, std::size_t at) { cut_pieces(part, at); };
    if (!data_.nfc) return cut_added(data_.added_normalized, text, begin, split);
    const NormalText normal = normalise_nfc(text);
    const std::size_t first = out_.ends.size();
    cut_added(data_.added_normalized, normal.text, 0, split);
    for (std::size_t i = first; i < out_.ends.size(); ++i)
      out_.ends[i] = static_cast<std::uint32_t>(begin + normal.source_end(out_.ends[i]));
  }

  // Patterns work on characters, so they get the valid stretches; a byte that belongs to none is its own
  // piece.
  void cut_pieces(std::string_view text, std::size_t begin) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t good = valid_utf8_length(text, at);
      data_.pre_tokenizer.split(text.substr(at, good), static_cast<std::int64_t>(begin + at), *this);
      at += good;
      if (at == text.size()) break;
      piece(text.substr(at, 1), static_cast<std::int64_t>(begin + at));
      ++at;
    }
  }

  void put(TokenId id, std::int64_t end) {
    out_.ids.push_back(id);
    if (offsets_) out_.ends.push_back(static_cast<std::uint32_t>(end));
  }

  const Data& data_;
  bool specials_;
  bool offsets_;
  BpeScratch scratch_;
  Offsets out_;
};

std::vector<TokenId> Tokenizer::encode(std::string_view text) const {
  Encoder encoder(*data_, false, false);
  encoder.run(text);
  return encoder.take().ids;
}

std::vector<TokenId> first_ids(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<TokenId> first;
  const std::string behind_space = fmt::format(" {}", text);
  for (const std::string_view form : {text, std::string_view(behind_space)})
    if (const auto ids = tokenizer.encode(form); !ids.empty()) first.push_back(ids.front());
  if (first.size() == 2 && first[0] == first[1]) first.pop_back();
  return first;
}

std::vector<TokenId> Tokenizer::encode_with_specials(std::string_view text) const {
  Encoder encoder(*data_, true, false);
  encoder.run(text);
  return encoder.take().ids;
}

Tokenizer::Offsets Tokenizer::encode_with_offsets(std::string_view text) const {
  Encoder encoder(*data_, false, true);
  encoder.run(text);
  return encoder.take();
}

}  // namespace mplus::io
