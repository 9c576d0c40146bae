// Llama 3's tokenizer may not be redistributed: MPLUS_LLAMA3_TOKENIZER names a tokenizer.json, or one packed
// with xz.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "mplus/io/text/chat_template.h"
#include "tests/io/file_bytes.h"
#include "tests/io/tokenizer/tokenizer_fixtures.h"

namespace mplus::io {
namespace {

class TokenizerLlama3 : public testing::Test {
 protected:
  void SetUp() override {
    const char* given = std::getenv("MPLUS_LLAMA3_TOKENIZER");
    if (given == nullptr || *given == '\0')
      GTEST_SKIP() << "SKIPPED: Llama 3's tokenizer is not tested; set MPLUS_LLAMA3_TOKENIZER to its "
                      "tokenizer.json(.xz)";
    path_ = given;
    if (path_.extension() != ".xz") return;
    const std::filesystem::path unpacked = folder_.path() / "tokenizer.json";
    ASSERT_EQ(std::system(fmt::format("xz -dc '{}' > '{}'", path_.string(), unpacked.string()).c_str()), 0);
    path_ = unpacked;
  }
  test::TemporaryFolder folder_;
  std::filesystem::path path_;
};

// The vectors hold neither bos nor special tokens.
TEST_F(TokenizerLlama3, Vectors) {
  const Tokenizer t = Tokenizer::from_file(path_);
  test::expect_vectors(t, "llama-bpe", 46);
  const std::string text = test::mixed_text(200'000, 9);
  EXPECT_EQ(t.decode(t.encode(text), false), text);
}

TEST_F(TokenizerLlama3, ChatTemplate) {
  const Tokenizer t = Tokenizer::from_file(path_);
  const auto chat = ChatTemplate::pick(t, "");
  ASSERT_TRUE(chat);
  EXPECT_EQ(chat->name(), "llama3");
  EXPECT_EQ(chat->message(Role::user, " hi there\n").ids,
            t.encode_with_specials("<|start_header_id|>user<|end_header_id|>\n\nhi there<|eot_id|>"));
  EXPECT_EQ(chat->conversation_start()[0], 128000);
}

}  // namespace
}  // namespace mplus::io
