#include "mplus/io/tokenizer/tokenizer.h"

#include "mplus/core/files/file.h"
#include "mplus/io/pretokenizer/unicode.h"
#include "mplus/io/text/hash.h"
#include "mplus/io/tokenizer/tokenizer_data.h"

namespace mplus::io {
namespace {

std::vector<AddedToken> added_tokens(const TokenizerSpec& spec, bool normalized) {
  std::vector<AddedToken> out;
  for (AddedToken token : spec.added) {
    if (token.normalized != normalized) continue;
    if (normalized && spec.nfc) token.content = normalise_nfc(token.content).text;
    out.push_back(std::move(token));
  }
  return out;
}

std::array<TokenId, 256> byte_tokens(const Vocabulary& vocabulary) {
  std::array<TokenId, 256> ids{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    const char text = static_cast<char>(byte);
    ids[byte] = vocabulary.find({&text, 1});
  }
  return ids;
}

// Without merges into special tokens: plain text must not become one.
std::vector<Merge> plain_merges(const TokenizerSpec& spec, const Vocabulary& vocabulary) {
  std::vector<Merge> merges = spec.merges;
  std::erase_if(merges, [&](const Merge& merge) { return vocabulary.is_special(merge.result); });
  return merges;
}

class Fingerprint {
 public:
  void number(std::int64_t value) {
    for (int shift = 0; shift < 64; shift += 8) text_ += static_cast<char>(value >> shift & 0xff);
  }
  void text(std::string_view value) {
    number(static_cast<std::int64_t>(value.size()));
    text_ += value;
  }
  std::uint64_t hash() const { return xxh3(std::as_bytes(std::span(text_))); }

 private:
  std::string text_;
};

std::uint64_t fingerprint_of(const TokenizerSpec& spec, const Vocabulary& vocabulary,
                             const PreTokenizer& rules) {
  Fingerprint print;
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    if (vocabulary.bytes(id).empty()) continue;  // padding of the table differs between files
    print.number(id);
    print.number(vocabulary.is_special(id));
    print.text(vocabulary.bytes(id));
  }
  for (const Merge& merge : spec.merges)
    for (const TokenId id : {merge.left, merge.right, merge.result}) print.number(id);
  print.text(rules.description());
  print.number(spec.nfc);
  print.number(spec.ignore_merges);
  return print.hash();
}

}  // namespace

Tokenizer::Data::Data(const TokenizerSpec& spec)
    : name(spec.name),
      vocabulary(spec),
      added(added_tokens(spec, false)),
      added_normalized(added_tokens(spec, true)),
      pre_tokenizer(spec.steps, spec.name),
      bpe(byte_tokens(vocabulary), plain_merges(spec, vocabulary)),
      nfc(spec.nfc),
      ignore_merges(spec.ignore_merges),
      bos(spec.bos),
      eos(spec.eos),
      fingerprint(fingerprint_of(spec, vocabulary, pre_tokenizer)) {}

Tokenizer Tokenizer::from_file(const std::filesystem::path& tokenizer_json) {
  const auto file = MappedFile::open(tokenizer_json);
  const std::string_view text(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  TokenizerSpec spec = read_tokenizer_json(text, tokenizer_json.string());
  read_special_ids(spec, tokenizer_json.parent_path());
  return Tokenizer(std::make_shared<const Data>(spec));
}

Tokenizer Tokenizer::from_json(std::string_view text, std::string_view name) {
  return Tokenizer(std::make_shared<const Data>(read_tokenizer_json(text, name)));
}

Tokenizer Tokenizer::from_gguf(const Gguf& file) {
  return Tokenizer(std::make_shared<const Data>(read_tokenizer_gguf(file)));
}

std::string Tokenizer::decode(std::span<const TokenId> ids, bool skip_specials) const {
  std::string text;
  for (const TokenId id : ids)
    if (!skip_specials || !is_special(id)) text += token_bytes(id);
  return text;
}

std::optional<TokenId> Tokenizer::special(std::string_view content) const {
  const auto id = data_->added.find_special(content);
  return id ? id : data_->added_normalized.find_special(content);
}

bool Tokenizer::is_special(TokenId id) const { return data_->vocabulary.is_special(id); }
std::int64_t Tokenizer::size() const { return data_->vocabulary.size(); }
std::string_view Tokenizer::token_bytes(TokenId id) const { return data_->vocabulary.bytes(id); }
std::optional<TokenId> Tokenizer::bos() const { return data_->bos; }
std::optional<TokenId> Tokenizer::eos() const { return data_->eos; }
std::uint64_t Tokenizer::fingerprint() const { return data_->fingerprint; }

StreamDecoder::StreamDecoder(Tokenizer tokenizer, bool skip_specials)
    : tokenizer_(std::move(tokenizer)), skip_specials_(skip_specials) {}

std::string StreamDecoder::push(TokenId id) {
  if (skip_specials_ && tokenizer_.is_special(id)) return {};
  waiting_ += tokenizer_.token_bytes(id);
  std::size_t ready = 0;
  while (ready < waiting_.size()) {
    ready += valid_utf8_length(waiting_, ready);
    if (ready == waiting_.size()) break;
    const Utf8Step step = utf8_step(waiting_, ready);
    if (step.validity == Utf8Step::Validity::incomplete) break;
    ready += step.length;
  }
  std::string out = to_valid_utf8(std::string_view(waiting_).substr(0, ready));
  waiting_.erase(0, ready);
  return out;
}

std::string StreamDecoder::finish() {
  std::string out = to_valid_utf8(waiting_);
  waiting_.clear();
  return out;
}

}  // namespace mplus::io
