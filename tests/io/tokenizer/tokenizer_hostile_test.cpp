// tokenizer.json files nobody should trust: a clear error, or a tokenizer that works.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "mplus/io/gguf/gguf.h"
#include "tests/io/allocation_watch.h"
#include "tests/io/expect_error.h"
#include "tests/io/file_bytes.h"
#include "tests/io/tokenizer/tokenizer_fixtures.h"

namespace mplus::io {
namespace {

using test::TinyTokenizer;

Tokenizer load(std::string_view json) { return Tokenizer::from_json(json, "bad.json"); }

// A file with one field replaced.
std::string with_model(std::string_view model) {
  return fmt::format(R"({{"pre_tokenizer":{{"type":"ByteLevel"}},"model":{}}})", model);
}
std::string with_rules(std::string_view rules) {
  TinyTokenizer tiny;
  tiny.rules = rules;
  return tiny.json();
}
std::string with_added(std::string_view added) {
  TinyTokenizer tiny;
  tiny.added = added;
  return tiny.json();
}

TEST(TokenizerHostile, MissingOrWrongFields) {
  for (const char* text : {"", "{", "[]", "7", "null", "{}", R"({"model":null})", R"({"model":[]})", "\xff"})
    EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("bad.json"), load(text));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("bad.json", "model.vocab"), load(with_model(R"({"merges":[]})")));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("model.vocab", "array"),
                     load(with_model(R"({"vocab":[],"merges":[]})")));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("model.merges"), load(with_model(R"({"vocab":{"a":0}})")));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("model.merges"),
                     load(with_model(R"({"vocab":{"a":0},"merges":{}})")));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("model.ignore_merges"),
                     load(with_model(R"({"vocab":{"a":0},"merges":[],"ignore_merges":1})")));
}

TEST(TokenizerHostile, IdsOutOfRangeOrTwice) {
  for (const char* id :
       {"-1", "4000000000", "1e3", "99999999999999999999", "\"0\"", "null", "true", "2147483648"})
    EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("bad.json", "model.vocab", "'a'"),
                       load(with_model(fmt::format(R"({{"vocab":{{"a":{}}},"merges":[]}})", id))));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("id 0", "'a'", "'b'"),
                     load(with_model(R"({"vocab":{"a":0,"b":0},"merges":[]})")));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("'a'"), load(with_model(R"({"vocab":{"a":0,"a":1},"merges":[]})")));
}

TEST(TokenizerHostile, AllocatesInProportionToTheFile) {
  const test::AllocationWatch watch;
  EXPECT_THROW(load(with_model(R"({"vocab":{"a":400000000},"merges":[]})")), Error);
  EXPECT_THROW(load(with_added(R"({"id":2000000000,"content":"x"})")), Error);
  EXPECT_LT(watch.largest(), std::size_t{1} << 20);
}

TEST(TokenizerHostile, MergesOfUnknownTokens) {
  const auto merges = [](std::string_view list) {
    return with_model(fmt::format(R"({{"vocab":{{"a":0,"b":1,"ab":2}},"merges":[{}]}})", list));
  };
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("merges[1]", "'x'"), load(merges(R"("a b","a x")")));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("merges[0]", "'ba'"), load(merges(R"("b a")")));
  for (const char* bad : {R"("ab")", R"("a b a")", R"("")", R"(" b")", R"("a ")", R"(["a"])", R"(["a",""])",
                          R"(["a",1])", R"(["a","b","a"])", "7", "null", "{}", R"(["",""])"})
    EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("bad.json", "merges"), load(merges(bad)));
}

TEST(TokenizerHostile, AddedTokens) {
  for (const char* bad :
       {R"({"content":"x"})", R"({"id":300})", R"({"id":300,"content":""})", R"({"id":-1,"content":"x"})",
        R"({"id":4000000000,"content":"x"})", R"({"id":300,"content":7})",
        R"({"id":300,"content":"x","special":"yes"})", "7", "[]"})
    EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("bad.json", "added_tokens"), load(with_added(bad)));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("id 300", "'x<'", "'y<'"),
                     load(with_added(R"({"id":300,"content":"x<"},{"id":300,"content":"y<"})")));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("'ab'", "256", "300"),
                     load(with_added(R"({"id":300,"content":"ab"})")));
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("added_tokens[0].single_word"),
                     load(with_added(R"({"id":300,"content":"x<","single_word":true})")));
}

TEST(TokenizerHostile, RulesThatAreNotKnown) {
  const std::string byte_level = R"({"type":"ByteLevel"})";
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("normalizer", "'Lowercase'"),
                     load(with_rules(R"("normalizer":{"type":"Lowercase"},"pre_tokenizer":)" + byte_level)));
  for (
      const char* rules :
      {R"("pre_tokenizer":null)", R"("pre_tokenizer":{"type":"Metaspace"})",
       R"("pre_tokenizer":{"type":"Digits"})", R"("pre_tokenizer":{"type":"Sequence","pretokenizers":[]})",
       R"("pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"ByteLevel"},{"type":"Digits"}]})",
       R"("pre_tokenizer":{"type":"Split","behavior":"Removed","pattern":{"Regex":"a"}})",
       R"("pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","behavior":"Isolated","pattern":{"Regex":"("}},{"type":"ByteLevel"}]})"})
    EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("bad.json", "pre_tokenizer"), load(with_rules(rules)));
  for (const char* rules :
       {R"("pre_tokenizer":7)", R"("pre_tokenizer":{})", R"("pre_tokenizer":{"type":"Sequence"})",
        R"("pre_tokenizer":{"type":"Split","behavior":"Isolated"})"})
    EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("bad.json", "pre_tokenizer"), load(with_rules(rules)));
  std::string many;
  for (int i = 0; i < 1000; ++i) many += R"({"type":"Digits"},)";
  EXPECT_MPLUS_ERROR(
      ErrorCode::unsupported, ("steps"),
      load(with_rules(R"("pre_tokenizer":{"type":"Sequence","pretokenizers":[)" + many + byte_level + "]}")));
}

TEST(TokenizerHostile, ModelsThatAreNotKnown) {
  for (const char* field : {R"("dropout":0.1,)", R"("byte_fallback":true,)",
                            R"("continuing_subword_prefix":"##",)", R"("end_of_word_suffix":"</w>",)"}) {
    TinyTokenizer tiny;
    tiny.model = field;
    EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("tiny.json", "model."), tiny.load());
  }
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("model.type", "'Unigram'"),
                     load(with_model(R"({"type":"Unigram"})")));
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("model.unk_token"),
                     load(with_model(R"({"vocab":{"a":0},"merges":[],"unk_token":"a"})")));
}

TEST(TokenizerHostile, DeepJson) {
  for (const char* unit : {"[", R"({"model":)", R"({"normalizer":{"type":"Sequence","normalizers":[)"}) {
    std::string text;
    for (int i = 0; i < 100'000; ++i) text += unit;
    EXPECT_THROW(load(text), Error);
  }
}

TEST(TokenizerHostile, EveryCutAndEveryFlippedByte) {
  const test::Bytes file = test::to_bytes(
      R"({"normalizer":{"type":"NFC"},"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":)"
      R"({"Regex":"\\s+|a(b|c)*"},"behavior":"Isolated"},{"type":"Digits"},{"type":"ByteLevel"}]},"added_tokens":[)"
      R"({"id":3,"content":"<|end|>","special":true,"rstrip":true},{"id":4,"content":"<plain>","lstrip":true}],)"
      R"("model":{"type":"BPE","ignore_merges":true,"vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]}})");
  const auto read = [](std::span<const std::byte> bytes) {
    const Tokenizer t = load({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    const std::string text = "ab abab <plain><|end|> a\xff 12 e\u0301";
    const auto ids = t.encode_with_specials(text);
    for (const TokenId id : ids) ASSERT_TRUE(id >= 0 && id < t.size());
    t.encode_with_offsets(text);
    t.decode(ids);
  };
  read(file);
  test::expect_every_cut_fails(file, read);
  EXPECT_GT(test::flip_every_byte(file, read), 500);
}

// --- GGUF
// --------------------------------------------------------------------------------------------------------

struct TinyGguf {
  std::string model = "gpt2", pre = "gpt-2";
  std::vector<std::string_view> tokens{"a", "b", "ab", "<|end|>"};
  std::vector<std::string_view> merges{"a b"};
  std::vector<std::int32_t> types{1, 1, 1, 3};
  std::uint32_t eos = 3;
  test::Bytes build() const {
    test::GgufBuilder file;
    file.text("tokenizer.ggml.model", model).text("tokenizer.ggml.pre", pre);
    file.texts("tokenizer.ggml.tokens", tokens).texts("tokenizer.ggml.merges", merges);
    std::string list;
    test::append<std::uint32_t>(list, 5);  // i32
    test::append<std::uint64_t>(list, types.size());
    for (const std::int32_t type : types) test::append(list, type);
    file.raw("tokenizer.ggml.token_type", 9, list).number("tokenizer.ggml.eos_token_id", eos);
    return file.build();
  }
  Tokenizer load() const {
    const test::Bytes bytes = build();
    return Tokenizer::from_gguf(Gguf::parse(bytes, "tiny.gguf"));
  }
};

TEST(TokenizerGguf, ReadsTokensMergesAndTypes) {
  const Tokenizer t = TinyGguf{}.load();
  EXPECT_EQ(t.encode("ab<|end|>a"), (std::vector<TokenId>{2, 0}));
  EXPECT_EQ(t.encode_with_specials("ab<|end|>a"), (std::vector<TokenId>{2, 3, 0}));
  EXPECT_EQ(t.eos(), 3);
  EXPECT_EQ(t.bos(), std::nullopt);
}

TEST(TokenizerGguf, RefusesWhatItDoesNotKnow) {
  TinyGguf model, pre, merges, types, type, eos, twice;
  model.model = "llama";
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("tiny.gguf", "tokenizer.ggml.model", "'llama'"), model.load());
  pre.pre = "surprise";
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("tiny.gguf", "tokenizer.ggml.pre", "smollm", "'surprise'"),
                     pre.load());
  merges.merges = {"a b", "b b"};
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("tiny.gguf", "merges[1]", "'bb'"), merges.load());
  types.types.pop_back();
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("tiny.gguf", "token_type", "4", "3"), types.load());
  type.types[2] = 17;
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("tiny.gguf", "token_type[2]", "17"), type.load());
  eos.eos = 4;
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("tiny.gguf", "eos_token_id", "4"), eos.load());
  twice.tokens[1] = "a";
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("tiny.gguf", "'a'", "0", "1"), twice.load());
  const test::Bytes empty = test::GgufBuilder{}.build();
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("none.gguf", "tokenizer.ggml.model"),
                     Tokenizer::from_gguf(Gguf::parse(empty, "none.gguf")));
}

TEST(TokenizerGguf, EveryFlippedByte) {
  test::flip_every_byte(TinyGguf{}.build(), [](std::span<const std::byte> bytes) {
    const Tokenizer t = Tokenizer::from_gguf(Gguf::parse(bytes, "tiny.gguf"));
    for (const TokenId id : t.encode_with_specials("ab<|end|>a é")) ASSERT_TRUE(id >= 0 && id < t.size());
  });
}

}  // namespace
}  // namespace mplus::io
