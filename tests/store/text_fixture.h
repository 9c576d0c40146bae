// The tiny model with tokenizers, for sessions that hold text.
#pragma once

#include <fmt/core.h>

#include <fstream>

#include "tests/io/tokenizer/tokenizer_fixtures.h"
#include "tests/store/stored_fixture.h"

namespace mplus::store {

inline std::string story(std::size_t words, unsigned seed) {
  constexpr const char* kWords[] = {"the lamp", "in the harbour", "Ingrid", "then", "a stone", "Zürich"};
  std::mt19937 random(seed);
  std::string text;
  for (std::size_t i = 0; i < words; ++i) text += fmt::format("{} ", kWords[random() % std::size(kWords)]);
  return text;
}

inline engine::GenerateOptions tokens(std::int64_t n) {
  engine::GenerateOptions options;
  options.max_tokens = n;
  return options;
}

class TextStoreTest : public StoreTest {
 protected:
  using Merges = std::vector<std::pair<std::string, std::string>>;

  // The tiny model with a tokenizer of single bytes, and with one that knows a few words.
  TextStoreTest() : bytes_(with_tokenizer("bytes", {})), words_(with_tokenizer("words", kMerges)) {}

  engine::EngineOptions with_tokenizer(const std::string& name, const Merges& merges) {
    engine::EngineOptions options = tiny_options();
    const std::filesystem::path model = folder_ / name;
    std::filesystem::create_directories(model);
    std::filesystem::copy(options.files.model, model, std::filesystem::copy_options::recursive);
    io::test::TinyTokenizer tokenizer;
    tokenizer.merges = merges;
    tokenizer.added = R"({"id":297,"content":"<|im_start|>","special":true,"normalized":false},)"
                      R"({"id":298,"content":"<|im_end|>","special":true,"normalized":false})";
    std::ofstream(model / "tokenizer.json") << tokenizer.json();
    options.files.model = model;
    return options;
  }

  inline static const Merges kMerges{{"t", "h"},         {"th", "e"},
                                     {"\u0120", "the"},  {"i", "n"},
                                     {"l", "a"},         {"m", "p"},
                                     {"la", "mp"},       {"h", "a"},
                                     {"ha", "r"},        {"b", "o"},
                                     {"u", "r"},         {"bo", "ur"},
                                     {"har", "bour"},    {"\u0120", "harbour"},
                                     {"\u0120", "lamp"}, {"s", "t"},
                                     {"o", "n"},         {"the", "n"}};
  engine::Engine bytes_, words_;
};

}  // namespace mplus::store
