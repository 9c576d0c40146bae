// What all copies of a Tokenizer share.
#pragma once

#include "mplus/io/pretokenizer/pretokenizer.h"
#include "mplus/io/tokenizer/bpe.h"
#include "mplus/io/tokenizer/tokenizer.h"
#include "mplus/io/tokenizer/tokenizer_added.h"
#include "mplus/io/tokenizer/tokenizer_vocabulary.h"

namespace mplus::io {

struct Tokenizer::Data {
  explicit Data(const TokenizerSpec& spec);

  std::string name;
  Vocabulary vocabulary;
  AddedTokens added;             // looked for in the text as it is
  AddedTokens added_normalized;  // looked for after normalisation
  PreTokenizer pre_tokenizer;
  Bpe bpe;
  bool nfc;
  bool ignore_merges;
  std::optional<TokenId> bos, eos;
  std::uint64_t fingerprint;
};

}  // namespace mplus::io
