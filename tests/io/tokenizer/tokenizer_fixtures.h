// Tokenizers and vectors the tests share.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "mplus/io/tokenizer/tokenizer.h"

namespace mplus::io::test {

const Tokenizer& smollm2();  // tests/data/tokenizers/tokenizer.json, read once

// A byte-level tokenizer.json made by hand: all 256 bytes as ids 0…255, a few merges, "<|end|>" special and
// "<plain>" added but not special. `rules` replaces normalizer and pre_tokenizer, `model` adds fields to the
// model.
struct TinyTokenizer {
  std::string rules = R"("pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"use_regex":true})";
  std::string model;
  std::vector<std::pair<std::string, std::string>> merges{{"a", "b"}, {"ab", "ab"}, {"\u0120", "a"}};
  std::string added = R"({"id":300,"content":"<|end|>","special":true,"normalized":false},)"
                      R"({"id":301,"content":"<plain>","special":false,"normalized":false})";
  std::string json() const;
  Tokenizer load() const { return Tokenizer::from_json(json(), "tiny.json"); }
};

struct Vector {
  std::string text;
  std::vector<TokenId> ids;
};
// NAME.inp and NAME.out of tests/data/tokenizers, read as bytes.
std::vector<Vector> read_vectors(std::string_view name);
// Encodes every vector and compares.
void expect_vectors(const Tokenizer& tokenizer, std::string_view name, std::size_t count);

// The same number for the same two, on every machine.
std::uint64_t random_number(std::uint64_t seed, std::uint64_t index);

// Deterministic text of `size_bytes` or a little more: words of several scripts, digits, marks, emoji, white
// space.
std::string mixed_text(std::size_t size_bytes, std::uint64_t seed);

}  // namespace mplus::io::test
