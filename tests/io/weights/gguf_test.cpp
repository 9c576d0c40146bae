#include "mplus/io/gguf/gguf.h"

#include <gtest/gtest.h>

#include "tests/io/expect_error.h"
#include "tests/io/file_bytes.h"

namespace mplus::io {
namespace {

using test::append;
using test::Bytes;
using test::GgufBuilder;
using test::TemporaryFolder;

template <class T>
std::string array_bytes(std::uint32_t type, const std::vector<T>& values) {
  std::string out;
  append(out, type);
  append(out, static_cast<std::uint64_t>(values.size()));
  for (const T value : values) append(out, value);
  return out;
}

template <class T>
std::string number_bytes(T value) {
  std::string out;
  append(out, value);
  return out;
}

TEST(Gguf, ReadsEveryKindOfValue) {
  const std::string_view words[] = {"a", "", "Ġthe"};
  const Bytes bytes = GgufBuilder()
                          .raw("u8", 0, number_bytes(std::uint8_t{200}))
                          .raw("i8", 1, number_bytes(std::int8_t{-3}))
                          .raw("u16", 2, number_bytes(std::uint16_t{60000}))
                          .raw("i16", 3, number_bytes(std::int16_t{-300}))
                          .number("u32", 4000000000u)
                          .raw("i32", 5, number_bytes(std::int32_t{-70000}))
                          .real("f32", 0.5f)
                          .flag("yes", 1)
                          .flag("no", 0)
                          .text("text", "héllo")
                          .texts("words", words)
                          .raw("u64", 10, number_bytes(~std::uint64_t{0}))
                          .raw("i64", 11, number_bytes(INT64_MIN))
                          .raw("f64", 12, number_bytes(1e300))
                          .raw("i32s", 9, array_bytes<std::int32_t>(5, {1, -2, 3}))
                          .raw("u8s", 9, array_bytes<std::uint8_t>(0, {1, 255}))
                          .raw("f32s", 9, array_bytes<float>(6, {1.5f, -2}))
                          .raw("nothing", 9, array_bytes<float>(6, {}))
                          .build();
  const Gguf file = Gguf::parse(bytes, "f");
  EXPECT_EQ(file.version(), 3u);
  EXPECT_EQ(file.get_u64("u8"), 200u);
  EXPECT_EQ(file.get_i64("i8"), -3);
  EXPECT_EQ(file.get_u64("u16"), 60000u);
  EXPECT_EQ(file.get_i64("i16"), -300);
  EXPECT_EQ(file.get_i64("u32"), 4000000000);
  EXPECT_EQ(file.get_i64("i32"), -70000);
  EXPECT_EQ(file.get_f64("f32"), 0.5);
  EXPECT_EQ(file.get_f64("u8"), 200.0);
  EXPECT_EQ(file.get_bool("yes"), true);
  EXPECT_EQ(file.get_bool("no"), false);
  EXPECT_EQ(file.get_string("text"), "héllo");
  EXPECT_EQ(file.get_strings("words"), (std::vector<std::string>{"a", "", "Ġthe"}));
  EXPECT_EQ(file.get_u64("u64"), ~std::uint64_t{0});
  EXPECT_EQ(file.get_i64("i64"), INT64_MIN);
  EXPECT_EQ(file.get_f64("f64"), 1e300);
  EXPECT_EQ(file.get_i32s("i32s"), (std::vector<std::int32_t>{1, -2, 3}));
  EXPECT_EQ(file.get_i32s("u8s"), (std::vector<std::int32_t>{1, 255}));
  EXPECT_EQ(file.get_f32s("f32s"), (std::vector<float>{1.5f, -2}));
  EXPECT_EQ(file.get_f32s("nothing"), std::vector<float>{});
}

TEST(Gguf, AnAbsentKeyIsNoErrorAndAnotherKindIs) {
  const std::string_view words[] = {"a"};
  const Bytes bytes = GgufBuilder()
                          .text("text", "x")
                          .raw("negative", 5, number_bytes(std::int32_t{-1}))
                          .raw("huge", 10, number_bytes(~std::uint64_t{0}))
                          .raw("wide", 9, array_bytes<std::int64_t>(11, {INT64_MAX}))
                          .texts("words", words)
                          .build();
  const Gguf file = Gguf::parse(bytes, "f");
  EXPECT_EQ(file.get_u64("absent"), std::nullopt);
  EXPECT_EQ(file.get_strings("absent"), std::nullopt);
  EXPECT_EQ(file.find_metadata("absent"), nullptr);
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: ", "'text'"), file.get_u64("text"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("'text'"), file.get_i64("text"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("'text'"), file.get_f64("text"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("'text'"), file.get_bool("text"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("'text'"), file.get_strings("text"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("'words'"), file.get_string("words"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("'words'"), file.get_i32s("words"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("'words'"), file.get_f32s("words"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("'wide'"), file.get_i32s("wide"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("'wide'"), file.get_strings("wide"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("'negative'"), file.get_u64("negative"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("'huge'"), file.get_i64("huge"));
}

TEST(Gguf, DimsAreReversedAndBytesAreThoseOfTheFile) {
  GgufBuilder builder;
  builder.tensor("w", 3, {64, 3}, std::string(120, 'q')).tensor("n", 0, {5}, std::string(20, 'f'));
  for (const std::uint32_t version : {2u, 3u}) {
    builder.version = version;
    const TemporaryFolder folder;
    const Gguf file = Gguf::open(folder.write("m.gguf", builder.build()));
    EXPECT_EQ(file.version(), version);
    EXPECT_EQ(file.at("w").shape, (std::vector<std::int64_t>{3, 64}));
    EXPECT_EQ(file.at("w").dtype, DType::q4_1);
    EXPECT_EQ(file.at("w").bytes.size(), 120u);
    EXPECT_EQ(file.at("w").bytes[119], static_cast<std::byte>('q'));
    EXPECT_EQ(file.at("n").bytes[0], static_cast<std::byte>('f'));
    EXPECT_NO_THROW(file.at("w", {DType::q4_1}, {3, -1}));
    EXPECT_MPLUS_ERROR(ErrorCode::model_mismatch, ("m.gguf", "'w'", "[64, 3]", "[3, 64]"),
                       file.at("w", {}, {64, 3}));
    EXPECT_MPLUS_ERROR(ErrorCode::not_found, ("m.gguf", "'v'"), file.at("v"));
  }
}

TEST(Gguf, FollowsTheAlignmentOfTheFile) {
  GgufBuilder builder;
  builder.alignment = 128;
  builder.number("general.alignment", 128).tensor("a", 24, {3}, "abc").tensor("b", 24, {3}, "def");
  const Bytes bytes = builder.build();
  const Gguf file = Gguf::parse(bytes, "f");
  EXPECT_EQ(file.at("b").bytes[0], static_cast<std::byte>('d'));
  EXPECT_EQ(file.at("b").bytes.data() - file.at("a").bytes.data(), 128);
}

}  // namespace
}  // namespace mplus::io
