#include "tests/io/tokenizer/tokenizer_fixtures.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <sstream>

#include "mplus/core/files/file.h"
#include "mplus/io/tokenizer/bpe_alphabet.h"

namespace mplus::io::test {

const Tokenizer& smollm2() {
  static const Tokenizer tokenizer = Tokenizer::from_file(MPLUS_TEST_DATA "/tokenizers/tokenizer.json");
  return tokenizer;
}

std::string TinyTokenizer::json() const {
  nlohmann::json vocabulary;
  for (unsigned byte = 0; byte < 256; ++byte)
    vocabulary[spelled_byte(static_cast<std::uint8_t>(byte))] = byte;
  nlohmann::json list = nlohmann::json::array();
  int next = 256;
  for (const auto& [left, right] : merges) {
    vocabulary[left + right] = next++;
    list.push_back({left, right});
  }
  return fmt::format(R"({{{},"added_tokens":[{}],"model":{{"type":"BPE",{}"vocab":{},"merges":{}}}}})", rules,
                     added, model, vocabulary.dump(), list.dump());
}

std::vector<Vector> read_vectors(std::string_view name) {
  const std::string base = fmt::format("{}/tokenizers/{}", MPLUS_TEST_DATA, name);
  const std::string texts = read_text_file(base + ".inp");
  std::istringstream lines(read_text_file(base + ".out"));
  constexpr std::string_view kBetween = "\n__ggml_vocab_test__\n";
  std::vector<Vector> out;
  std::string line;
  for (std::size_t at = 0; at <= texts.size() && std::getline(lines, line);) {
    const std::size_t end = std::min(texts.find(kBetween, at), texts.size());
    Vector& vector = out.emplace_back();
    vector.text = texts.substr(at, end - at);
    std::istringstream numbers(line);
    for (TokenId id = 0; numbers >> id;) vector.ids.push_back(id);
    at = end + kBetween.size();
  }
  return out;
}

void expect_vectors(const Tokenizer& tokenizer, std::string_view name, std::size_t count) {
  const std::vector<Vector> vectors = read_vectors(name);
  ASSERT_EQ(vectors.size(), count);
  for (const Vector& vector : vectors) {
    EXPECT_EQ(tokenizer.encode(vector.text), vector.ids) << testing::PrintToString(vector.text);
    EXPECT_EQ(tokenizer.encode_with_offsets(vector.text).ids, vector.ids);
  }
}

std::uint64_t random_number(std::uint64_t seed, std::uint64_t index) {  // SplitMix64
  std::uint64_t z = (seed + 1) * 0xbf58476d1ce4e5b9u + (index + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

std::string mixed_text(std::size_t size_bytes, std::uint64_t seed) {
  constexpr auto kWords = std::to_array<std::string_view>({"the",
                                                           "memory",
                                                           "recalls",
                                                           "it'\u017f",
                                                           "don't",
                                                           "WE'LL",
                                                           "naïve",
                                                           "Zürich",
                                                           "память",
                                                           "длинный",
                                                           "日本語",
                                                           "人工知能",
                                                           "العربية",
                                                           "हिन्दी",
                                                           "👩‍👩‍👧",
                                                           "🏳️‍🌈",
                                                           "e\u0301\u0323",
                                                           "\u1100\u1161\u11a8",
                                                           "1234567",
                                                           "٣٤٥",
                                                           "½Ⅷ",
                                                           "x_i+=f(a[0]);",
                                                           "...",
                                                           "—",
                                                           "\u200b",
                                                           "\u180e",
                                                           "\u00a0",
                                                           "\u3000",
                                                           "\x01",
                                                           "'s",
                                                           "'S",
                                                           "<|im_end|>"});
  constexpr auto kGaps = std::to_array<std::string_view>(
      {" ", " ", " ", "", "  ", "\n", "\r\n", "\n\n", "\t", "   \n  ", " \u2003 ", "      ", "\n \n\t"});
  std::string text;
  for (std::uint64_t i = 0; text.size() < size_bytes; ++i) {
    const std::uint64_t bits = random_number(seed, i);
    text += kWords[(bits >> 32) % kWords.size()];
    text += kGaps[(bits & UINT32_MAX) % kGaps.size()];
  }
  return text;
}

}  // namespace mplus::io::test
