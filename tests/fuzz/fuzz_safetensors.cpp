#include "mplus/io/config/memory_config.h"
#include "mplus/io/weights/dequantise.h"
#include "mplus/io/weights/safetensors.h"
#include "tests/fuzz/accept.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mplus::io;
  test::accept_errors([&] {
    const auto file = Safetensors::parse(test::input_bytes(data, size), "input");
    // Every byte that was promised is looked at.
    for (const auto& [name, tensor] : file.tensors())
      MPLUS_CHECK(dequantise(tensor).size() == static_cast<std::size_t>(tensor.elements()), "{}", name);
    const MemoryConfig memory = delta_config(file);
    delta_metadata(memory);
  });
  return 0;
}
