#include <string_view>

#include "mplus/io/tokenizer/tokenizer.h"
#include "tests/fuzz/accept.h"

// A byte 0xff, which no JSON holds, ends the file; what follows it is the text to cut.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mplus::io;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view json = input.substr(0, input.find('\xff'));
  const std::string_view text =
      json.size() == size ? "A text, 12 \xc3\xa9 <|im_end|>\n" : input.substr(json.size() + 1);
  test::accept_errors([&] {
    const Tokenizer tokenizer = Tokenizer::from_json(json, "input");
    const auto ids = tokenizer.encode(text);
    for (const TokenId id : ids)
      MPLUS_CHECK(id >= 0 && id < tokenizer.size(), "{} of {}", id, tokenizer.size());
    tokenizer.encode_with_specials(text);
    tokenizer.decode(ids);
    StreamDecoder stream(tokenizer);
    for (const TokenId id : ids) stream.push(id);
    stream.finish();
  });
  return 0;
}
