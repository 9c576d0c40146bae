#include <string_view>

#include "mplus/io/weights/dequantise.h"
#include "mplus/io/weights/safetensors.h"
#include "tests/fuzz/accept.h"
#include "tests/fuzz/scratch.h"

// A byte 0xff, which no JSON holds, ends the index; what follows it is the shard "1.safetensors". Beside them
// stand a sound shard "2.safetensors", with tensor "c", and a folder.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mplus::io;
  static const bool prepared = [] {
    const std::string header = R"({"c":{"dtype":"I8","shape":[2],"data_offsets":[0,2]}}    )";
    const std::string length{static_cast<char>(header.size()), 0, 0, 0, 0, 0, 0, 0};
    test::scratch().write("2.safetensors", length + header + "xy");
    return std::filesystem::create_directory(test::scratch().folder() / "folder");
  }();
  MPLUS_CHECK(prepared, "no folder");
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view index = input.substr(0, input.find('\xff'));
  test::scratch().write("model.safetensors.index.json", index);
  test::scratch().write("1.safetensors", index.size() == size ? "" : input.substr(index.size() + 1));
  test::accept_errors([&] {
    const auto file = Safetensors::open(test::scratch().folder());
    for (const auto& [name, tensor] : file.tensors())
      MPLUS_CHECK(dequantise(tensor).size() == static_cast<std::size_t>(tensor.elements()), "{}", name);
    for (const std::filesystem::path& shard : file.files())
      MPLUS_CHECK(shard.parent_path() == test::scratch().folder(), "{}", shard.string());
  });
  return 0;
}
