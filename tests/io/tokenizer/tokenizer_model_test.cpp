// The tokenizer inside the default model's GGUF is that of its tokenizer.json.
#include <gtest/gtest.h>

#include "mplus/io/gguf/gguf.h"
#include "mplus/io/text/chat_template.h"
#include "mplus/io/tokenizer/tokenizer_spec.h"
#include "tests/io/default_model.h"
#include "tests/io/tokenizer/tokenizer_fixtures.h"

namespace mplus::io {
namespace {

class TokenizerModel : public testing::Test {
 protected:
  void SetUp() override {
    MPLUS_NEED_DEFAULT_MODEL();
    path_ = test::default_model_path();
  }
  std::filesystem::path path_;
};

TEST_F(TokenizerModel, Vectors) {
  const Tokenizer t = Tokenizer::from_gguf(Gguf::open(path_));
  test::expect_vectors(t, "smollm2", 81);
  const std::string text = test::mixed_text(200'000, 4);
  EXPECT_EQ(t.encode(text), test::smollm2().encode(text));
}

TEST_F(TokenizerModel, IsTheSameTokenizerAsTheJson) {
  const Tokenizer t = Tokenizer::from_gguf(Gguf::open(path_));
  EXPECT_EQ(t.fingerprint(), test::smollm2().fingerprint());
  EXPECT_EQ(t.size(), test::smollm2().size());
  EXPECT_EQ(t.bos(), test::smollm2().bos());
  EXPECT_EQ(t.eos(), test::smollm2().eos());
  for (TokenId id = 0; id < t.size(); ++id) {
    ASSERT_EQ(t.token_bytes(id), test::smollm2().token_bytes(id));
    ASSERT_EQ(t.is_special(id), test::smollm2().is_special(id));
  }
}

TEST_F(TokenizerModel, WrittenAsJsonItIsTheSame) {
  const std::string json = write_tokenizer_json(read_tokenizer_gguf(Gguf::open(path_)));
  const Tokenizer t = Tokenizer::from_json(json, "written");
  EXPECT_EQ(t.fingerprint(), test::smollm2().fingerprint());
  test::expect_vectors(t, "smollm2", 81);
}

TEST_F(TokenizerModel, ChatTemplate) {
  const Gguf file = Gguf::open(path_);
  const Tokenizer t = Tokenizer::from_gguf(file);
  const auto chat = ChatTemplate::pick(t, file.get_string("tokenizer.chat_template").value());
  ASSERT_TRUE(chat);
  EXPECT_EQ(chat->name(), "chatml");
  EXPECT_EQ(
      t.decode(chat->default_system(), false),
      "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n");
}

}  // namespace
}  // namespace mplus::io
