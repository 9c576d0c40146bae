#include "mplus/io/weights/llama2c.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "mplus/core/files/file.h"
#include "mplus/io/weights/dequantise.h"
#include "tests/io/expect_error.h"
#include "tests/io/file_bytes.h"

namespace mplus::io {
namespace {

const std::string kModel = MPLUS_TEST_DATA "/stories260k/stories260K.bin";
const std::string kTokens = MPLUS_TEST_DATA "/stories260k/tok512.bin";

TEST(Llama2c, ReadsTheStoryteller) {
  const Llama2cModel model = open_llama2c(kModel);
  const ModelConfig& c = model.config;
  EXPECT_EQ(c.hidden, 64);
  EXPECT_EQ(c.ffn, 172);
  EXPECT_EQ(c.layers, 5);
  EXPECT_EQ(c.heads, 8);
  EXPECT_EQ(c.kv_heads, 4);
  EXPECT_EQ(c.head_size, 8);
  EXPECT_EQ(c.vocab, 512);
  EXPECT_EQ(c.context, 512);
  EXPECT_TRUE(c.tied_embeddings);
  EXPECT_EQ(model.tensors.size(), 2u + 5 * 9);
  EXPECT_EQ(model.tensors.at("model.layers.4.self_attn.k_proj.weight").shape,
            (std::vector<std::int64_t>{32, 64}));
  EXPECT_EQ(model.tensors.at("model.layers.0.mlp.down_proj.weight").shape,
            (std::vector<std::int64_t>{64, 172}));
  for (const auto& [name, tensor] : model.tensors)
    for (const float x : dequantise(tensor)) ASSERT_TRUE(std::isfinite(x) && std::abs(x) < 100) << name;
}

// The sections of the file in the order llama2.c writes them: the first float of some, found by counting.
TEST(Llama2c, SectionsLieWhereTheFormatPutsThem) {
  const Llama2cModel model = open_llama2c(kModel);
  const std::string file = read_text_file(kModel);
  const auto float_at = [&](std::size_t index) {
    float x = 0;
    std::memcpy(&x, file.data() + 28 + 4 * index, 4);
    return x;
  };
  const auto first = [&](const std::string& name) { return dequantise(model.tensors.at(name))[0]; };
  const std::size_t q = 512 * 64 + 5 * 64, k = q + 5 * 64 * 64, v = k + 5 * 64 * 32, o = v + 5 * 64 * 32;
  EXPECT_EQ(first("model.embed_tokens.weight"), float_at(0));
  EXPECT_EQ(first("model.layers.1.self_attn.q_proj.weight"), float_at(q + 64 * 64));
  EXPECT_EQ(first("model.layers.2.self_attn.v_proj.weight"), float_at(v + 2 * 64 * 32));
  EXPECT_EQ(first("model.layers.0.post_attention_layernorm.weight"), float_at(o + 5 * 64 * 64));
  EXPECT_EQ(first("model.layers.0.mlp.gate_proj.weight"), float_at(o + 5 * 64 * 64 + 5 * 64));
  // Row 1 of a half-split head of 8 is row 2 of the file's interleaved one.
  EXPECT_EQ(dequantise(model.tensors.at("model.layers.0.self_attn.k_proj.weight"))[64], float_at(k + 2 * 64));
}

TEST(Llama2c, LyingHeadersAreRefused) {
  const test::TemporaryFolder folder;
  const std::string file = read_text_file(kModel);
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("short", "header"),
                     open_llama2c(folder.write("short", file.substr(0, 20))));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("cut", "1056540", "1056539"),
                     open_llama2c(folder.write("cut", file.substr(0, file.size() - 1))));
  const auto with_field = [&](std::size_t i, std::int32_t value) {
    std::string changed = file;
    std::memcpy(changed.data() + 4 * i, &value, 4);
    return folder.write("changed", changed);
  };
  for (std::size_t i = 0; i < 7; ++i)
    for (const std::int32_t value : {0, INT32_MIN, INT32_MAX, -1, 1, 7})
      EXPECT_THROW(open_llama2c(with_field(i, value)), Error) << i << " " << value;
}

TEST(Llama2c, ReadsTheVocabulary) {
  const Llama2cVocabulary v = open_llama2c_vocabulary(kTokens, 512);
  ASSERT_EQ(v.pieces.size(), 512u);
  EXPECT_EQ(v.text(13, 0), "\n");  // stored as <0x0A>
  const auto spaced =
      std::ranges::find_if(v.pieces, [](const std::string& s) { return s.size() > 2 && s[0] == ' '; });
  ASSERT_NE(spaced, v.pieces.end());
  const auto id = spaced - v.pieces.begin();
  EXPECT_EQ(v.text(id, 5), *spaced);
  EXPECT_EQ(v.text(id, 1), spaced->substr(1));
  EXPECT_MPLUS_ERROR(ErrorCode::invalid_argument, ("512"), v.text(512, 0));
}

TEST(Llama2c, AVocabularyCutAnywhereIsRefused) {
  const test::TemporaryFolder folder;
  const std::string file = read_text_file(kTokens);
  for (std::size_t n = 0; n < file.size(); n += 7)
    EXPECT_THROW(open_llama2c_vocabulary(folder.write("v", file.substr(0, n)), 512), Error) << n;
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("511"), open_llama2c_vocabulary(kTokens, 511));
}

}  // namespace
}  // namespace mplus::io
