// A tokenizer that is written is the one that was read, whatever kind of file it came from.
#include "mplus/io/text/text_side.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "mplus/core/files/file.h"
#include "mplus/io/gguf/gguf.h"
#include "mplus/io/tokenizer/tokenizer_spec.h"
#include "tests/io/expect_error.h"
#include "tests/io/file_bytes.h"
#include "tests/io/tokenizer/tokenizer_fixtures.h"

namespace mplus::io {
namespace {

// Same ids for texts of all sorts, with and without special tokens.
void expect_same(const Tokenizer& a, const Tokenizer& b) {
  EXPECT_EQ(a.fingerprint(), b.fingerprint());
  EXPECT_EQ(a.size(), b.size());
  const std::string text = test::mixed_text(20'000, 5) + " abab <plain> 12 345<|end|> a e\u0301\n\n  x";
  EXPECT_EQ(a.encode(text), b.encode(text));
  EXPECT_EQ(a.encode_with_specials(text), b.encode_with_specials(text));
}

std::string written(std::string_view json) {
  return write_tokenizer_json(read_tokenizer_json(json, "in.json"));
}

TEST(WrittenTokenizer, IsTheOneThatWasRead) {
  for (const char* rules :
       {R"("pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"use_regex":true})",
        R"("pre_tokenizer":{"type":"ByteLevel","add_prefix_space":true,"use_regex":true})",
        R"("pre_tokenizer":{"type":"ByteLevel","add_prefix_space":true,"use_regex":false})",
        R"("pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"use_regex":false})",
        R"("normalizer":{"type":"NFC"},"pre_tokenizer":{"type":"Sequence","pretokenizers":[
            {"type":"Digits","individual_digits":true},{"type":"Digits","individual_digits":false},
            {"type":"Split","pattern":{"Regex":"[a-z]+|\\s+"},"behavior":"Isolated","invert":false},
            {"type":"Split","pattern":{"String":"(b"},"behavior":"Isolated"},
            {"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]})"}) {
    test::TinyTokenizer tiny;
    tiny.rules = rules;
    expect_same(tiny.load(), Tokenizer::from_json(written(tiny.json()), "out.json"));
  }
  test::TinyTokenizer whole_pieces;
  whole_pieces.model = R"("ignore_merges":true,)";
  expect_same(whole_pieces.load(), Tokenizer::from_json(written(whole_pieces.json()), "out.json"));
}

TEST(WrittenTokenizer, AddedTokensKeepTheirRules) {
  test::TinyTokenizer tiny;
  tiny.added =
      R"({"id":300,"content":"<|end|>","special":true,"lstrip":true,"rstrip":true,"normalized":true},)"
      R"({"id":310,"content":"<plain>","special":false})";
  expect_same(tiny.load(), Tokenizer::from_json(written(tiny.json()), "out.json"));
}

TEST(WrittenTokenizer, SmolLm2) {
  const std::string json = read_text_file(MPLUS_TEST_DATA "/tokenizers/tokenizer.json");
  const Tokenizer again = Tokenizer::from_json(written(json), "out.json");
  expect_same(test::smollm2(), again);
  test::expect_vectors(again, "smollm2", 81);
}

TEST(WrittenTokenizer, WhatAFileCannotSayIsAnError) {
  TokenizerSpec spec = read_tokenizer_json(test::TinyTokenizer{}.json(), "in.json");
  spec.steps = {{PreTokenizerStep::CutKind::prefix_space, {}},
                {PreTokenizerStep::CutKind::pattern, "[a-z]+"}};
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("in.json", "space"), write_tokenizer_json(spec));
  spec = read_tokenizer_json(test::TinyTokenizer{}.json(), "in.json");
  spec.tokens[7] = "\xff";
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("in.json", "UTF-8"), write_tokenizer_json(spec));
}

// A GGUF with SmolLM2's kind of tokenizer and template.
test::Bytes gguf(std::string_view chat_template) {
  const std::vector<std::string_view> tokens{"a",          "b",      "ab",    "<|im_start|>",
                                             "<|im_end|>", "unused", "\u010a"};
  test::GgufBuilder file;
  file.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", "smollm");
  file.texts("tokenizer.ggml.tokens", tokens);
  file.texts("tokenizer.ggml.merges", std::vector<std::string_view>{"a b"});
  std::string types;
  test::append<std::uint32_t>(types, 5);  // i32
  test::append<std::uint64_t>(types, tokens.size());
  for (const std::int32_t type : {1, 1, 1, 3, 3, 5, 1}) test::append(types, type);
  file.raw("tokenizer.ggml.token_type", 9, types);
  file.number("tokenizer.ggml.bos_token_id", 3).number("tokenizer.ggml.eos_token_id", 4);
  file.text("tokenizer.chat_template", chat_template);
  return file.build();
}

TEST(TextSide, OfAGgufBecomesFilesOfAFolder) {
  const test::TemporaryFolder folder;
  const auto model = folder.write("m.gguf", gguf("{{ '<|im_start|>system\nab ba<|im_end|>\n' }} \"quoted\""));
  const auto out = folder.path() / "base";
  std::filesystem::create_directories(out);
  ASSERT_TRUE(write_text_side(model, out));
  const std::optional<TextSide> from = read_text_side(model), to = read_text_side(out);
  ASSERT_TRUE(from && to && from->chat && to->chat);
  EXPECT_EQ(from->tokenizer.fingerprint(), to->tokenizer.fingerprint());
  EXPECT_EQ(to->tokenizer.bos(), 3);
  EXPECT_EQ(to->tokenizer.eos(), 4);
  EXPECT_EQ(from->chat->default_system(), to->chat->default_system());
  EXPECT_FALSE(to->chat->default_system().empty());
}

TEST(TextSide, OfAFolderIsCopied) {
  const test::TemporaryFolder folder;
  const auto from = folder.path() / "from", to = folder.path() / "to";
  std::filesystem::create_directories(from);
  std::filesystem::create_directories(to);
  EXPECT_FALSE(read_text_side(from));
  EXPECT_FALSE(write_text_side(from, to)) << "no tokenizer.json";
  folder.write("from/tokenizer.json", test::TinyTokenizer{}.json());
  folder.write("from/tokenizer_config.json", R"({"eos_token":"<|end|>"})");
  for (int again = 0; again < 2; ++again) EXPECT_TRUE(write_text_side(from, to));
  EXPECT_EQ(read_text_side(to)->tokenizer.eos(), 300);
}

TEST(TextSide, OfBareWeightsIsNothing) {
  const test::TemporaryFolder folder;
  const auto weights = folder.write("weights.bin", "llama2.c");
  EXPECT_FALSE(read_text_side(weights));
  EXPECT_FALSE(write_text_side(weights, folder.path()));
  EXPECT_FALSE(read_text_side(folder.path() / "nothing.gguf"));
}

}  // namespace
}  // namespace mplus::io
