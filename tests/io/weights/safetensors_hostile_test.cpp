// Files that lie. Each must be refused with a message that names the file, the tensor, what was expected and
// what was found; nothing may be read beyond the file or allocated beyond what its size justifies.
#include <gtest/gtest.h>

#include "mplus/io/weights/dequantise.h"
#include "mplus/io/weights/safetensors.h"
#include "tests/io/allocation_watch.h"
#include "tests/io/expect_error.h"
#include "tests/io/file_bytes.h"

namespace mplus::io {
namespace {

using test::Bytes;
using test::safetensors_file;
using test::to_bytes;

const std::string kData(16, '\x3f');

// One tensor "t" described by fields, over 16 bytes of data.
void read_one(const std::string& fields) {
  parse_safetensors(safetensors_file("{\"t\":{" + fields + "}}", kData), "f");
}

// Looks at every byte the reader promised.
void read_all_safetensors(std::span<const std::byte> bytes) {
  const SafetensorsContent content = parse_safetensors(bytes, "f");
  for (const auto& [name, tensor] : content.tensors)
    ASSERT_EQ(dequantise(tensor).size(), static_cast<std::size_t>(tensor.elements()));
}

Bytes small_safetensors() {
  return safetensors_file(
      R"({"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
      R"("b":{"dtype":"BF16","shape":[3],"data_offsets":[8,14]},"c":{"dtype":"I8","shape":[2],"data_offsets":[14,16]}}  )",
      kData);
}

TEST(SafetensorsHostile, AnyCutIsRefused) {
  test::expect_every_cut_fails(small_safetensors(), read_all_safetensors);
}

TEST(SafetensorsHostile, AnyChangedByteIsReadOrRefused) {
  EXPECT_NO_THROW(read_all_safetensors(small_safetensors()));
  EXPECT_GT(test::flip_every_byte(small_safetensors(), read_all_safetensors), 0);
}

TEST(SafetensorsHostile, Offsets) {
  EXPECT_NO_THROW(read_one(R"("dtype":"F32","shape":[4],"data_offsets":[0,16])"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: tensor 't'", "16", "[0, 20]"),
                     read_one(R"("dtype":"F32","shape":[5],"data_offsets":[0,20])"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: tensor 't'", "[16, 0]"),
                     read_one(R"("dtype":"F32","shape":[4],"data_offsets":[16,0])"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: tensor 't'", "[18446744073709551608, 16]"),
                     read_one(R"("dtype":"F32","shape":[6],"data_offsets":[18446744073709551608,16])"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: tensor 't'", "data_offsets"),
                     read_one(R"("dtype":"F32","shape":[4],"data_offsets":[-16,0])"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: tensor 't'", "data_offsets"),
                     read_one(R"("dtype":"F32","shape":[4],"data_offsets":[0,8,16])"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: tensor 't'", "data_offsets"),
                     read_one(R"("dtype":"F32","shape":[4],"data_offsets":[0.0,16.0])"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: tensor 't'", "data_offsets"),
                     read_one(R"("dtype":"F32","shape":[4])"));
}

TEST(SafetensorsHostile, SizesThatLie) {
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: tensor 't'", "F32 [3]", "12", "16"),
                     read_one(R"("dtype":"F32","shape":[3],"data_offsets":[0,16])"));
  // 2^62 elements of 4 bytes are 2^64, which a careless product makes 0.
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: tensor 't'", "[4611686018427387904]"),
                     read_one(R"("dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0])"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: tensor 't'", "[4294967296, 4294967296]"),
                     read_one(R"("dtype":"I8","shape":[4294967296,4294967296],"data_offsets":[0,0])"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: tensor 't'", "18446744073709551615"),
                     read_one(R"("dtype":"I8","shape":[18446744073709551615],"data_offsets":[0,16])"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: tensor 't'", "-4"),
                     read_one(R"("dtype":"F32","shape":[-4],"data_offsets":[0,16])"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: tensor 't'", "shape"),
                     read_one(R"("dtype":"F32","data_offsets":[0,16])"));
}

TEST(SafetensorsHostile, OverlapsAndGaps) {
  const auto read_two = [](const char* a, const char* b) {
    parse_safetensors(
        safetensors_file(std::string(R"({"a":{"dtype":"I8",)") + a + R"(},"b":{"dtype":"I8",)" + b + "}}",
                         kData),
        "f");
  };
  EXPECT_NO_THROW(read_two(R"("shape":[6],"data_offsets":[10,16])", R"("shape":[10],"data_offsets":[0,10])"));
  EXPECT_MPLUS_ERROR(
      ErrorCode::corrupt, ("f: tensor 'b'", "10", "8", "overlap"),
      read_two(R"("shape":[10],"data_offsets":[0,10])", R"("shape":[8],"data_offsets":[8,16])"));
  EXPECT_MPLUS_ERROR(
      ErrorCode::corrupt, ("f: tensor", "overlap"),
      read_two(R"("shape":[16],"data_offsets":[0,16])", R"("shape":[16],"data_offsets":[0,16])"));
  EXPECT_MPLUS_ERROR(
      ErrorCode::corrupt, ("f: tensor 'b'", "8", "10", "gap"),
      read_two(R"("shape":[8],"data_offsets":[0,8])", R"("shape":[6],"data_offsets":[10,16])"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: tensor 'a'", "gap"),
                     read_two(R"("shape":[8],"data_offsets":[1,9])", R"("shape":[7],"data_offsets":[9,16])"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: data", "15", "16"),
                     read_two(R"("shape":[8],"data_offsets":[0,8])", R"("shape":[7],"data_offsets":[8,15])"));
}

TEST(SafetensorsHostile, DataThatIsNotAlignedToItsElements) {
  const std::string header =
      R"({"a":{"dtype":"I8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"F32","shape":[3],"data_offsets":[2,14]},)"
      R"("c":{"dtype":"I8","shape":[2],"data_offsets":[14,16]}} )";
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("f: tensor 'b'", "F32", "4", "at 2"),
                     parse_safetensors(safetensors_file(header, kData), "f"));
}

TEST(SafetensorsHostile, Types) {
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("f: tensor 't'", "F64"),
                     read_one(R"("dtype":"F64","shape":[2],"data_offsets":[0,16])"));
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("f: tensor 't'", "Q8_0"),
                     read_one(R"("dtype":"Q8_0","shape":[2],"data_offsets":[0,16])"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: tensor 't'", "dtype"),
                     read_one(R"("dtype":7,"shape":[4],"data_offsets":[0,16])"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: tensor 't'", "dtype"),
                     read_one(R"("shape":[4],"data_offsets":[0,16])"));
}

TEST(SafetensorsHostile, Headers) {
  const auto read = [](std::string_view header) { parse_safetensors(safetensors_file(header, ""), "f"); };
  EXPECT_NO_THROW(read("{}"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: header", "array"), read("[]"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: "), read(""));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: tensor 't'", "number"), read(R"({"t":1})"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: __metadata__", "'k'", "number"),
                     read(R"({"__metadata__":{"k":1}})"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: __metadata__", "string"), read(R"({"__metadata__":"k"})"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: ", "'t'", "twice"),
                     read(R"({"t":{"dtype":"I8","shape":[0],"data_offsets":[0,0]},"t":1})"));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: "), read("{\"\xff\xfe\":{}}"));
  EXPECT_MPLUS_ERROR(ErrorCode::unsupported, ("f: "), read("{\"t\":" + std::string(100000, '[')));
}

TEST(SafetensorsHostile, AHeaderLengthIsNotBelieved) {
  for (const std::uint64_t length : {std::uint64_t{1} << 62, ~std::uint64_t{0}, ~std::uint64_t{0} - 7,
                                     std::uint64_t{99'999'999}, std::uint64_t{3}}) {
    std::string text;
    test::append(text, length);
    const Bytes file = to_bytes(text + "{}");
    const test::AllocationWatch watch;
    EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("f: header", std::to_string(length)),
                       parse_safetensors(file, "f"));
    EXPECT_LT(watch.largest(), 4096u);
  }
}

TEST(SafetensorsHostile, ANameCannotReachTheTerminalOrFloodIt) {
  try {
    parse_safetensors(safetensors_file("{\"\\u001b]0;x" + std::string(100000, 'a') + "\":1}", ""), "f");
    FAIL();
  } catch (const Error& e) {
    EXPECT_LT(std::string(e.what()).size(), 400u);
    EXPECT_EQ(std::string(e.what()).find('\x1b'), std::string::npos);
  }
}

}  // namespace
}  // namespace mplus::io
