#include "mplus/io/weights/dequantise.h"
#include "mplus/io/weights/llama2c.h"
#include "tests/fuzz/accept.h"
#include "tests/fuzz/scratch.h"

// The first byte says what follows: 0 a checkpoint, n a vocabulary of n tokens.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mplus::io;
  if (size == 0) return 0;
  const auto path = test::scratch().write("stories.bin", test::input_bytes(data + 1, size - 1));
  const std::int64_t tokens = data[0];
  test::accept_errors([&] {
    if (tokens > 0) {
      const Llama2cVocabulary vocabulary = open_llama2c_vocabulary(path, tokens);
      for (std::int64_t id = 0; id < tokens; ++id) vocabulary.text(id, id % 2);
      return;
    }
    const Llama2cModel model = open_llama2c(path);
    for (const auto& [name, tensor] : model.tensors)
      MPLUS_CHECK(dequantise(tensor).size() == static_cast<std::size_t>(tensor.elements()), "{}", name);
  });
  return 0;
}
