// Text to token ids and back: byte-level BPE, id for id what Hugging Face's `tokenizers` makes of the same
// file. Read from tokenizer.json or from a GGUF's metadata. Immutable once loaded; any number of threads may
// use one Tokenizer (or copies, which share everything) at the same time. A StreamDecoder belongs to one
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mplus::io {

class Gguf;

using TokenId = std::int32_t;

class Tokenizer {
 public:
  // bos and eos are looked for beside the file: tokenizer_config.json, then config.json.
  static Tokenizer from_file(const std::filesystem::path& tokenizer_json);
  // `name` stands in error messages for the file. Any bytes are safe: what is not a tokenizer throws Error.
  static Tokenizer from_json(std::string_view text, std::string_view name);
  static Tokenizer from_gguf(const Gguf& file);

  // Special tokens off: "<|im_end|>" in a document is plain text. (Added tokens that the file does not call
  // special are part of the vocabulary and still found, as in `tokenizers`.) Never adds bos or eos.
  std::vector<TokenId> encode(std::string_view text) const;
  // The text's special tokens become ids. For explicit requests only, never for what users or documents say.
  std::vector<TokenId> encode_with_specials(std::string_view text) const;

  // ends[i] is where token i stops in the text's bytes, so that token i covers [ends[i-1], ends[i]).
  struct Offsets {
    std::vector<TokenId> ids;
    std::vector<std::uint32_t> ends;
  };
  Offsets encode_with_offsets(std::string_view text) const;  // ids as encode()

  // The tokens' bytes one after the other, exactly: not always valid UTF-8 (a StreamDecoder's output is).
  std::string decode(std::span<const TokenId> ids, bool skip_specials = true) const;

  std::optional<TokenId> special(std::string_view content) const;  // id of an added special token
  bool is_special(TokenId id) const;                               // false for ids out of range
  std::int64_t size() const;                                       // ids are in [0, size())
  std::string_view token_bytes(TokenId id) const;                  // empty for ids that name no token
  std::optional<TokenId> bos() const;
  std::optional<TokenId> eos() const;

  // Hash over vocabulary, merges and the rules that cut text: the same for tokenizer.json and GGUF of one
  // tokenizer, and different for tokenizers that could cut a text differently.
  std::uint64_t fingerprint() const;

 private:
  struct Data;
  class Encoder;
  explicit Tokenizer(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  std::shared_ptr<const Data> data_;
};

// Ids that a text may begin with, at the start of what is said or behind a space.
std::vector<TokenId> first_ids(const Tokenizer& tokenizer, std::string_view text);

// Ids to text, piece by piece, for showing while a model generates. Whatever comes out is valid UTF-8: the
// start of a character waits for its rest, and bytes that can no longer become one turn into U+FFFD, as many
// as decoding everything at once would give.
class StreamDecoder {
 public:
  explicit StreamDecoder(Tokenizer tokenizer, bool skip_specials = true);

  std::string push(TokenId id);
  std::string finish();  // what waits, as U+FFFD if it is half a character; ready for a new text afterwards

 private:
  Tokenizer tokenizer_;
  bool skip_specials_;
  std::string waiting_;  // a proper prefix of one character: at most 3 bytes
};

}  // namespace mplus::io
