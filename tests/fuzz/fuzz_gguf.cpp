#include "mplus/io/config/model_config.h"
#include "mplus/io/gguf/gguf.h"
#include "mplus/io/tokenizer/tokenizer.h"
#include "mplus/io/weights/dequantise.h"
#include "tests/fuzz/accept.h"

namespace mplus::io::test {
namespace {

void ask_everything(const Gguf& file) {
  for (const auto& [name, tensor] : file.tensors())
    MPLUS_CHECK(dequantise(tensor).size() == static_cast<std::size_t>(tensor.elements()), "{}", name);
  for (const auto& entry : file.metadata()) {
    const std::string& key = entry.first;
    accept_errors([&] { file.get_u64(key); });
    accept_errors([&] { file.get_i64(key); });
    accept_errors([&] { file.get_f64(key); });
    accept_errors([&] { file.get_string(key); });
    accept_errors([&] { file.get_strings(key); });
    accept_errors([&] { file.get_i32s(key); });
    accept_errors([&] { file.get_f32s(key); });
  }
  accept_errors([&] { config_from_gguf(file); });
  accept_errors([&] {
    const Tokenizer tokenizer = Tokenizer::from_gguf(file);
    tokenizer.decode(tokenizer.encode("A text, 12 \xc3\xa9 <|im_end|>\n"));
  });
}

}  // namespace
}  // namespace mplus::io::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mplus::io;
  test::accept_errors([&] { test::ask_everything(Gguf::parse(test::input_bytes(data, size), "input")); });
  return 0;
}
