#include "accept.h"
#include "mplus/io/dequantise.h"
#include "mplus/io/memory_config.h"
#include "mplus/io/safetensors.h"

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
