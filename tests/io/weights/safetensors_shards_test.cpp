#include <gtest/gtest.h>

#include <algorithm>

#include "mplus/io/weights/safetensors.h"
#include "tests/io/expect_error.h"
#include "tests/io/file_bytes.h"

namespace mplus::io {
namespace {

using test::safetensors_file;
using test::TemporaryFolder;

// A shard with tensors of two bytes each.
test::Bytes shard(const std::vector<std::string>& names) {
  std::string header = "{";
  for (std::size_t i = 0; i < names.size(); ++i)
    header += (i == 0 ? "\"" : ",\"") + names[i] + R"(":{"dtype":"I8","shape":[2],"data_offsets":[)" +
              std::to_string(2 * i) + "," + std::to_string(2 * i + 2) + "]}";
  return safetensors_file(header + "}", std::string(2 * names.size(), 'x'));
}

class Shards : public ::testing::Test {
 protected:
  Safetensors open(const std::string& weight_map) {
    folder_.write("model.safetensors.index.json", "{\"metadata\":{},\"weight_map\":" + weight_map + "}");
    return Safetensors::open(folder_.path());
  }
  void SetUp() override {
    folder_.write("1.safetensors", shard({"a", "b"}));
    folder_.write("2.safetensors", shard({"c"}));
  }
  TemporaryFolder folder_;
};

TEST(SafetensorsShards, AShardedModelIsTheSameModel) {
  const auto whole = Safetensors::open(MPLUS_TEST_DATA "/golden/mplus_inject/model");
  const auto parts = Safetensors::open(MPLUS_TEST_DATA "/golden/mplus_inject/model_sharded");
  const auto index =
      Safetensors::open(MPLUS_TEST_DATA "/golden/mplus_inject/model_sharded/model.safetensors.index.json");
  EXPECT_EQ(parts.files().size(), 3u);
  EXPECT_EQ(index.files().size(), 3u);
  ASSERT_EQ(parts.tensors().size(), whole.tensors().size());
  for (const auto& [name, tensor] : whole.tensors()) {
    EXPECT_EQ(parts.at(name).dtype, tensor.dtype);
    EXPECT_EQ(parts.at(name).shape, tensor.shape);
    EXPECT_TRUE(std::ranges::equal(parts.at(name).bytes, tensor.bytes)) << name;
  }
}

TEST_F(Shards, AreReadThroughTheirIndex) {
  const auto file = open(R"({"a":"1.safetensors","b":"1.safetensors","c":"2.safetensors"})");
  EXPECT_EQ(file.tensors().size(), 3u);
  EXPECT_EQ(file.path(), folder_.path());
}

TEST_F(Shards, AMissingShardIsNamed) {
  EXPECT_MPLUS_ERROR(ErrorCode::not_found, ("index.json", "'3.safetensors'"),
                     open(R"({"a":"1.safetensors","b":"1.safetensors","c":"3.safetensors"})"));
}

TEST_F(Shards, AShardElsewhereIsRefused) {
  for (const char* place :
       {"../1.safetensors", "/etc/passwd", "x/1.safetensors", "..", "", ".", "a\\\\b", "1\\u0000"})
    EXPECT_THROW(open(std::string(R"({"a":")") + place + "\"}"), Error) << place;
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("index.json", "'a'", "'../1.safetensors'"),
                     open(R"({"a":"../1.safetensors"})"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("index.json", "'a'", "number"), open(R"({"a":1})"));
}

TEST_F(Shards, IndexAndShardsMustAgree) {
  EXPECT_MPLUS_ERROR(
      ErrorCode::corrupt, ("'d'", "'2.safetensors'"),
      open(R"({"a":"1.safetensors","b":"1.safetensors","c":"2.safetensors","d":"2.safetensors"})"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("'b'", "'1.safetensors'"),
                     open(R"({"a":"1.safetensors","c":"2.safetensors"})"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("'b'", "'2.safetensors'", "'1.safetensors'"),
                     open(R"({"a":"1.safetensors","b":"2.safetensors","c":"2.safetensors"})"));
}

TEST_F(Shards, ATensorInTwoShardsIsRefused) {
  folder_.write("2.safetensors", shard({"a", "c"}));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("'a'", "'1.safetensors'", "'2.safetensors'"),
                     open(R"({"a":"1.safetensors","b":"1.safetensors","c":"2.safetensors"})"));
}

TEST_F(Shards, ABrokenIndexIsRefused) {
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("index.json", "weight_map"), open("[]"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("index.json", "'a'"),
                     open(R"({"a":"1.safetensors","a":"2.safetensors"})"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("index.json", "weight_map"), open("null"));
}

TEST(SafetensorsShards, AFolderWithoutAModelSaysWhatWasLookedFor) {
  const TemporaryFolder folder;
  EXPECT_MPLUS_ERROR(ErrorCode::not_found, ("model.safetensors", folder.path().string()),
                     Safetensors::open(folder.path()));
  EXPECT_MPLUS_ERROR(ErrorCode::not_found, ("absent"), Safetensors::open(folder.path() / "absent"));
}

}  // namespace
}  // namespace mplus::io
