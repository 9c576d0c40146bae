// The format's own library reads what we write and writes what we read. Needs PyPI's safetensors in the
// interpreter of $MPLUS_PYTHON (or the one CMake found); says so where it is missing.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "mplus/core/files/file.h"
#include "mplus/io/text/hash.h"
#include "mplus/io/weights/safetensors.h"
#include "tests/io/file_bytes.h"

namespace mplus::io {
namespace {

// Lists name, dtype, shape and SHA-256 of the data of every tensor of file argv[1], then writes them to
// argv[2].
constexpr std::string_view kScript = R"(
import ctypes, hashlib, safetensors, sys
tensors = safetensors.deserialize(open(sys.argv[1], 'rb').read())
for name, t in sorted(tensors):
    print(name, t['dtype'], list(t['shape']), hashlib.sha256(bytes(t['data'])).hexdigest())
types = {'F32': 'float32', 'F16': 'float16', 'BF16': 'bfloat16', 'I64': 'int64', 'I32': 'int32', 'I8': 'int8',
         'U8': 'uint8', 'BOOL': 'bool'}
buffers = []
def spec(t):
    data = bytes(t['data'])
    if not hasattr(safetensors, 'TensorSpec'):  # before 0.8
        return {'dtype': types[t['dtype']], 'shape': t['shape'], 'data': data}
    buffers.append(ctypes.create_string_buffer(data, max(1, len(data))))
    return safetensors.TensorSpec(dtype=types[t['dtype']], shape=t['shape'], data_ptr=ctypes.addressof(buffers[-1]),
                                  data_len=len(data))
safetensors.serialize_file({n: spec(t) for n, t in tensors}, sys.argv[2], {'k': 'v'})
)";

std::string python() {
  const char* chosen = std::getenv("MPLUS_PYTHON");
  return chosen != nullptr ? chosen : MPLUS_PYTHON;
}

std::string listing(const Safetensors& file) {
  std::string out;
  for (const auto& [name, t] : file.tensors())
    out += fmt::format("{} {} {} {}\n", name, dtype_name(t.dtype), shape_text(t.shape), sha256_hex(t.bytes));
  return out;
}

TEST(SafetensorsPython, ReadsOursAndWeReadTheirs) {
  if (std::system((python() + " -c 'import safetensors' 2>/dev/null").c_str()) != 0)
    GTEST_SKIP() << "SKIPPED: no PyPI package safetensors in '" << python() << "' (set MPLUS_PYTHON)";
  const test::Bytes data = test::to_bytes(std::string(96, '\1'));
  std::vector<TensorData> tensors;
  for (const auto dtype :
       {DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32, DType::i8, DType::u8, DType::boolean}) {
    const std::size_t bytes = 6 * block_bytes(dtype);
    tensors.push_back({std::string(dtype_name(dtype)), dtype, {2, 3}, std::span(data).first(bytes)});
    tensors.push_back({fmt::format("{}.none", dtype_name(dtype)), dtype, {0, 3}, {}});
  }
  const test::TemporaryFolder folder;
  const auto ours = folder.path() / "ours", theirs = folder.path() / "theirs", list = folder.path() / "list";
  write_safetensors(ours, tensors, {{"k", "line\nbreak \"é\""}});
  const auto script = folder.write("script.py", kScript);
  const std::string command = fmt::format("{} {} {} {} > {}", python(), script.string(), ours.string(),
                                          theirs.string(), list.string());
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(read_text_file(list), listing(Safetensors::open(ours)));
  EXPECT_EQ(listing(Safetensors::open(theirs)), listing(Safetensors::open(ours)));
  EXPECT_EQ(Safetensors::open(theirs).metadata().at("k"), "v");
}

}  // namespace
}  // namespace mplus::io
