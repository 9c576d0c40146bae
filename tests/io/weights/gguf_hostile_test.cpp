// GGUF files that lie: see safetensors_hostile_test.cpp.
#include <gtest/gtest.h>

#include "mplus/io/gguf/gguf.h"
#include "mplus/io/weights/dequantise.h"
#include "tests/io/allocation_watch.h"
#include "tests/io/expect_error.h"
#include "tests/io/file_bytes.h"

namespace mplus::io {
namespace {

using test::append;
using test::Bytes;
using test::gguf_string;
using test::GgufBuilder;
using test::to_bytes;

constexpr std::size_t kSmallAllocation = 1 << 14;

// Looks at every byte the reader promised.
void read_all_gguf(std::span<const std::byte> bytes) {
  const Gguf file = Gguf::parse(bytes, "f");
  for (const auto& [name, tensor] : file.tensors())
    ASSERT_EQ(dequantise(tensor).size(), static_cast<std::size_t>(tensor.elements()));
  for (const auto& [key, value] : file.metadata()) {
    const auto* array = std::get_if<Gguf::Array>(&value);
    if (array != nullptr && array->type == Gguf::Type::string) {
      ASSERT_EQ(file.get_strings(key)->size(), array->count);
    }
  }
}

Bytes small_gguf() {
  const std::string_view words[] = {"a", "bc"};
  return GgufBuilder()
      .text("general.architecture", "llama")
      .number("n", 7)
      .flag("b", 1)
      .texts("words", words)
      .tensor("w", 8, {32, 2}, std::string(68, '\x11'))
      .tensor("x", 0, {3}, std::string(12, '\x3f'))
      .tensor("k", 14, {256}, std::string(210, '\x5a'))
      .build();
}

TEST(GgufHostile, AnyCutIsRefused) { test::expect_every_cut_fails(small_gguf(), read_all_gguf); }

TEST(GgufHostile, AnyChangedByteIsReadOrRefused) {
  EXPECT_NO_THROW(read_all_gguf(small_gguf()));
  EXPECT_GT(test::flip_every_byte(small_gguf(), read_all_gguf), 0);
}

TEST(GgufHostile, NotThisFormatOrVersion) {
  const auto with_version = [](std::uint32_t version) {
    GgufBuilder builder;
    builder.version = version;
    return builder.build();
  };
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: magic"),
                     Gguf::parse(to_bytes("GGML and so on, 24 bytes or more"), "f"));
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("f: version", "1"), Gguf::parse(with_version(1), "f"));
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("f: version", "4"), Gguf::parse(with_version(4), "f"));
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("f: version", "big-endian"),
                     Gguf::parse(with_version(3u << 24), "f"));
}

TEST(GgufHostile, CountsAreNotBelieved) {
  for (const std::uint64_t count : {std::uint64_t{1} << 60, ~std::uint64_t{0} - 4, std::uint64_t{1} << 32}) {
    GgufBuilder tensors, pairs;
    tensors.number("n", 1).more_tensors = count;
    pairs.number("n", 1).more_pairs = count;
    const Bytes tensor_bytes = tensors.build(), pair_bytes = pairs.build();
    const test::AllocationWatch watch;
    EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: tensor count", std::to_string(count)),
                       Gguf::parse(tensor_bytes, "f"));
    EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: metadata count", std::to_string(count + 1)),
                       Gguf::parse(pair_bytes, "f"));
    EXPECT_LT(watch.largest(), kSmallAllocation);
  }
}

TEST(GgufHostile, LengthsAreNotBelieved) {
  for (const std::uint64_t length : {std::uint64_t{1} << 62, ~std::uint64_t{0}, ~std::uint64_t{0} - 7}) {
    std::string text, numbers, texts;
    append(text, length);
    append(numbers, std::uint32_t{10});
    append(numbers, length);
    append(texts, std::uint32_t{8});
    append(texts, length);
    const Bytes text_bytes = GgufBuilder().raw("k", 8, text).build();
    const Bytes number_bytes = GgufBuilder().raw("k", 9, numbers + "01234567").build();
    const Bytes texts_bytes = GgufBuilder().raw("k", 9, texts + gguf_string("x")).build();
    const test::AllocationWatch watch;
    EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: metadata 'k'", std::to_string(length)),
                       Gguf::parse(text_bytes, "f"));
    EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: metadata 'k'", std::to_string(length)),
                       Gguf::parse(number_bytes, "f"));
    EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: metadata 'k'", std::to_string(length)),
                       Gguf::parse(texts_bytes, "f"));
    EXPECT_LT(watch.largest(), kSmallAllocation);
  }
}

TEST(GgufHostile, Metadata) {
  const auto read = [](const GgufBuilder& builder) { Gguf::parse(builder.build(), "f"); };
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: metadata 'k'", "twice"),
                     read(GgufBuilder().number("k", 1).number("k", 1)));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: metadata 'k'", "13"),
                     read(GgufBuilder().raw("k", 13, "12345678")));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: metadata 'k'", "2"), read(GgufBuilder().flag("k", 2)));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: key of metadata 0", "xff"),
                     read(GgufBuilder().number("\xff", 1)));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: key of metadata 0", "''"), read(GgufBuilder().number("", 1)));
  std::string nested;
  append(nested, std::uint32_t{9});
  append(nested, std::uint64_t{1});
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("f: metadata 'k'"),
                     read(GgufBuilder().raw("k", 9, nested + nested)));
  for (const std::uint32_t alignment : {0u, 4u, 24u, 1u << 30})
    EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: metadata 'general.alignment'", std::to_string(alignment)),
                       read(GgufBuilder().number("general.alignment", alignment)));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("general.alignment"),
                     read(GgufBuilder().text("general.alignment", "32")));
}

TEST(GgufHostile, Tensors) {
  const auto read = [](const GgufBuilder& builder) { Gguf::parse(builder.build(), "f"); };
  const std::string data(64, 'x');
  const std::uint64_t huge = std::uint64_t{1} << 62;
  EXPECT_NO_THROW(read(GgufBuilder().tensor("t", 0, {16}, data)));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: tensor 't'", "twice"),
                     read(GgufBuilder().tensor("t", 0, {16}, data).tensor("t", 0, {16}, data)));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: tensor 't'", "5"),
                     read(GgufBuilder().tensor("t", 0, {1, 1, 1, 1, 1}, data)));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: tensor 't'", "F32", "[2, 4611686018427387904]"),
                     read(GgufBuilder().tensor("t", 0, {huge, 2}, data)));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: tensor 't'", "F32"),
                     read(GgufBuilder().tensor("t", 0, {huge}, data)));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: tensor 't'", "18446744073709551615"),
                     read(GgufBuilder().tensor("t", 0, {~std::uint64_t{0}}, data)));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: tensor 't'", "Q8_0", "[33]"),
                     read(GgufBuilder().tensor("t", 8, {33}, data)));
  struct Type {
    std::uint32_t number;
    const char* name;
  };
  for (const Type& type : {Type{6, "Q5_0"}, Type{7, "Q5_1"}})
    EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: tensor 't'", type.name, "[48]"),
                       read(GgufBuilder().tensor("t", type.number, {48}, data)));
  for (const Type& type : {Type{12, "Q4_K"}, Type{13, "Q5_K"}, Type{14, "Q6_K"}}) {
    EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: tensor 't'", type.name, "[288]"),
                       read(GgufBuilder().tensor("t", type.number, {288}, data)));
    EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: tensor 't'", "truncated"),
                       read(GgufBuilder().tensor("t", type.number, {256}, data)));
    EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: tensor 't'", type.name),
                       read(GgufBuilder().tensor("t", type.number, {huge, 2}, data)));
  }
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("f: tensor 't'", "Q3_K", "11"),
                     read(GgufBuilder().tensor("t", 11, {256}, data)));
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("f: tensor 't'", "4294967295"),
                     read(GgufBuilder().tensor("t", ~0u, {256}, data)));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: name of tensor 0", "xff"),
                     read(GgufBuilder().tensor("\xff", 0, {16}, data)));
}

TEST(GgufHostile, Offsets) {
  const auto read = [](const GgufBuilder& builder) { Gguf::parse(builder.build(), "f"); };
  const std::string data(64, 'x');
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: tensor 't'", "32", "4"),
                     read(GgufBuilder().tensor("t", 0, {16}, data, 4)));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: tensor 't'", "64", "32"),
                     read(GgufBuilder().tensor("t", 0, {16}, data, 32)));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: tensor 't'"),
                     read(GgufBuilder().tensor("t", 0, {16}, data, INT64_MAX - 31)));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: tensor 't'", "gap"),
                     read(GgufBuilder().tensor("t", 0, {8}, data, 32)));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: tensor 'u'", "64", "32", "overlap"),
                     read(GgufBuilder().tensor("t", 0, {16}, data).tensor("u", 0, {8}, data, 32)));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: data", "32", "64"),
                     read(GgufBuilder().tensor("t", 0, {8}, data)));
}

}  // namespace
}  // namespace mplus::io
