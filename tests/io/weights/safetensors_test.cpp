#include "mplus/io/weights/safetensors.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "mplus/core/files/file.h"
#include "tests/io/expect_error.h"
#include "tests/io/file_bytes.h"

namespace mplus::io {
namespace {

using test::Bytes;
using test::TemporaryFolder;
using test::to_bytes;

TensorData tensor(std::string name, DType dtype, std::vector<std::int64_t> shape,
                  std::span<const std::byte> bytes) {
  return {std::move(name), dtype, std::move(shape), bytes};
}

TEST(Safetensors, ReadsTheGoldenModel) {
  const auto file = Safetensors::open(MPLUS_TEST_DATA "/golden/mplus_inject/model");
  EXPECT_EQ(file.at("memory").shape, (std::vector<std::int64_t>{3, 24, 64}));
  EXPECT_EQ(file.at("memory").dtype, DType::f32);
  EXPECT_EQ(file.at("memory").bytes.size(), 3u * 24 * 64 * 4);
  EXPECT_EQ(file.find("no such tensor"), nullptr);
  EXPECT_EQ(file.metadata().at("format"), "pt");
  EXPECT_MPLUS_ERROR(ErrorCode::not_found, ("mplus_inject", "'no such tensor'"), file.at("no such tensor"));
}

TEST(Safetensors, ATensorOutlivesTheReaderThroughItsOwner) {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
  {
    const auto file = Safetensors::open(MPLUS_TEST_DATA "/golden/memoryllm_read/model");
    owner = file.owner();
    bytes = file.at("initialized").bytes;
  }
  ASSERT_EQ(bytes.size(), 1u);
  EXPECT_EQ(bytes[0], std::byte{1});
}

TEST(Safetensors, WhatIsWrittenIsReadBackForEveryTypeAndShape) {
  const Bytes data = to_bytes(std::string(240, 'x') + "abcdefgh");
  const auto take = [&](std::size_t n) { return std::span(data).last(n); };
  const std::vector<TensorData> written = {tensor("u8", DType::u8, {3, 1}, take(3)),
                                           tensor("bool", DType::boolean, {2}, take(2)),
                                           tensor("i8", DType::i8, {1, 5}, take(5)),
                                           tensor("bf16", DType::bf16, {3}, take(6)),
                                           tensor("f16", DType::f16, {1, 1, 1}, take(2)),
                                           tensor("i32", DType::i32, {7}, take(28)),
                                           tensor("f32", DType::f32, {3, 5, 2}, take(120)),
                                           tensor("i64", DType::i64, {3}, take(24)),
                                           tensor("scalar", DType::f32, {}, take(4)),
                                           tensor("none", DType::f32, {4, 0, 2}, take(0)),
                                           tensor("näme \"with\"\n\\", DType::u8, {1}, take(1))};
  const StringMap metadata{{"K", "128"}, {"prompt", "Question: {q}\n\"é\""}};
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.safetensors";
  write_safetensors(path, written, metadata);
  const auto file = Safetensors::open(path);
  EXPECT_EQ(file.metadata(), metadata);
  ASSERT_EQ(file.tensors().size(), written.size());
  for (const TensorData& w : written) {
    const Tensor& r = file.at(w.name);
    EXPECT_EQ(r.dtype, w.dtype);
    EXPECT_EQ(r.shape, w.shape);
    EXPECT_TRUE(std::ranges::equal(r.bytes, w.bytes)) << w.name;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(r.bytes.data()) % block_bytes(w.dtype), 0u) << w.name;
  }
  // The first tensor, of the largest elements, starts on a cache line.
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file.at("i64").bytes.data()) % 64, 0u);
}

TEST(Safetensors, TheSameContentInAnyOrderGivesTheSameBytes) {
  const Bytes data = to_bytes("0123456789abcdef");
  const TensorData a = tensor("a", DType::i8, {8}, std::span(data).first(8));
  const TensorData b = tensor("b", DType::f32, {2}, std::span(data).last(8));
  const TemporaryFolder folder;
  write_safetensors(folder.path() / "1", std::vector{a, b}, {});
  write_safetensors(folder.path() / "2", std::vector{b, a}, {});
  EXPECT_EQ(read_text_file(folder.path() / "1"), read_text_file(folder.path() / "2"));
}

TEST(Safetensors, AnEmptyFileOfTensorsIsAFile) {
  const TemporaryFolder folder;
  write_safetensors(folder.path() / "a", {}, {});
  EXPECT_TRUE(Safetensors::open(folder.path() / "a").tensors().empty());
}

TEST(Safetensors, RefusesToWriteWhatCouldNotBeReadBack) {
  const Bytes data = to_bytes("01234567");
  const TemporaryFolder folder;
  const auto path = folder.path() / "a";
  const auto write = [&](const TensorData& t) { write_safetensors(path, std::vector{t}, {}); };
  const std::span<const std::byte> all = data;
  EXPECT_MPLUS_ERROR(ErrorCode::invalid_argument, ("'t'", "12", "8"),
                     write(tensor("t", DType::f32, {3}, all)));
  EXPECT_MPLUS_ERROR(ErrorCode::invalid_argument, ("'t'"), write(tensor("t", DType::f32, {-2}, all)));
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("'t'", "Q8_0"), write(tensor("t", DType::q8_0, {32}, all)));
  EXPECT_MPLUS_ERROR(ErrorCode::invalid_argument, ("__metadata__"),
                     write(tensor("__metadata__", DType::u8, {8}, all)));
  EXPECT_MPLUS_ERROR(ErrorCode::invalid_argument, ("xff"), write(tensor("\xff", DType::u8, {8}, all)));
  const TensorData t = tensor("t", DType::u8, {8}, all);
  EXPECT_MPLUS_ERROR(ErrorCode::invalid_argument, ("'t'"), write_safetensors(path, std::vector{t, t}, {}));
  EXPECT_MPLUS_ERROR(ErrorCode::invalid_argument, ("'k'"), write_safetensors(path, {}, {{"k", "\xff"}}));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Safetensors, ATensorIsCheckedAgainstWhatTheModelNeeds) {
  const auto file = Safetensors::open(MPLUS_TEST_DATA "/golden/mplus_inject/model");
  EXPECT_NO_THROW(file.at("memory", {DType::f32, DType::bf16}, {3, -1, 64}));
  EXPECT_MPLUS_ERROR(ErrorCode::model_mismatch, ("mplus_inject", "'memory'", "BF16", "F32"),
                     file.at("memory", {DType::bf16}, {3, 24, 64}));
  EXPECT_MPLUS_ERROR(ErrorCode::model_mismatch, ("mplus_inject", "'memory'", "[3, 25, 64]", "[3, 24, 64]"),
                     file.at("memory", {}, {3, 25, 64}));
  EXPECT_MPLUS_ERROR(ErrorCode::model_mismatch, ("'memory'"), file.at("memory", {}, {3, 24}));
}

TEST(Tensor, CountsNeverOverflow) {
  using Shape = std::vector<std::int64_t>;
  const std::int64_t big = std::int64_t{1} << 40;
  EXPECT_EQ(element_count(Shape{}), 1);
  EXPECT_EQ(element_count(Shape{3, 5}), 15);
  EXPECT_EQ(element_count(Shape{big, big}), std::nullopt);
  EXPECT_EQ(element_count(Shape{big, big, 0}), 0);
  EXPECT_EQ(element_count(Shape{-1}), std::nullopt);
  EXPECT_EQ(tensor_size_bytes(DType::i64, Shape{std::int64_t{1} << 61}), std::nullopt);
  EXPECT_EQ(tensor_size_bytes(DType::q4_1, Shape{3, 64}), 3u * 2 * 20);
  EXPECT_EQ(tensor_size_bytes(DType::q4_1, Shape{64, 3}), std::nullopt);
  EXPECT_EQ(tensor_size_bytes(DType::q8_0, Shape{}), std::nullopt);
}

}  // namespace
}  // namespace mplus::io
