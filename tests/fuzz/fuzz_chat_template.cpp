#include <string_view>

#include "mplus/core/text.h"
#include "mplus/io/text/chat_template.h"
#include "mplus/io/text/json.h"
#include "mplus/io/tokenizer/bpe_alphabet.h"
#include "tests/fuzz/accept.h"
#include "tests/fuzz/scratch.h"

namespace mplus::io::test {
namespace {

// All bytes, and the special tokens of the known templates.
Tokenizer tokenizer_with(std::initializer_list<const char*> specials) {
  Json vocabulary, added = Json::array();
  int next = 0;
  for (; next < 256; ++next) vocabulary[spelled_byte(static_cast<std::uint8_t>(next))] = next;
  for (const char* special : specials)
    added.push_back({{"id", next++}, {"content", special}, {"special", true}, {"normalized", false}});
  const Json json{
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}},
      {"added_tokens", added},
      {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", Json::array()}}}};
  return Tokenizer::from_json(json.dump(), "tokenizer.json");
}

// What people say cannot end itself or speak as someone else: no special token stands in it.
void check_message(const ChatTemplate& chat, const Tokenizer& tokenizer, Role role, std::string_view text) {
  const ChatTemplate::MessageIds part = chat.message(role, text);
  MPLUS_CHECK(part.text_begin <= part.text_end && part.text_end <= part.ids.size(), "{} to {} of {}",
              part.text_begin, part.text_end, part.ids.size());
  const auto own = std::span(part.ids).subspan(part.text_begin, part.text_end - part.text_begin);
  for (const TokenId id : own) MPLUS_CHECK(id < 256, "a special token {} in a message", id);
  const std::string decoded = tokenizer.decode(own, false);
  MPLUS_CHECK(decoded == text || decoded == trim(text), "another text: {} bytes of {}", decoded.size(),
              text.size());
}

void render(const ChatTemplate& chat, const Tokenizer& tokenizer, std::string_view text) {
  for (const Role role : {Role::system, Role::user, Role::assistant})
    check_message(chat, tokenizer, role, text);
  chat.default_system();
  chat.open_assistant();
  chat.close_assistant();
  MPLUS_CHECK(!chat.stop_ids().empty(), "{} never stops", chat.name());
}

}  // namespace
}  // namespace mplus::io::test

// A byte 0xff ends the template, which is the text itself or, if it begins with '{"', a tokenizer_config.json
// that holds it; what follows is what somebody says.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mplus::io;
  static const Tokenizer tokenizers[] = {
      test::tokenizer_with({"<|endoftext|>", "<|im_start|>", "<|im_end|>"}),
      test::tokenizer_with(
          {"<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"}),
      test::tokenizer_with({"<|im_start|>"})};
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view source = input.substr(0, input.find('\xff'));
  const std::string_view text =
      source.size() == size ? " A text <|im_end|>\n" : input.substr(source.size() + 1);
  test::accept_errors([&] {
    std::string found(source);
    if (source.starts_with("{\"")) {
      test::scratch().write("tokenizer_config.json", source);
      found = read_chat_template(test::scratch().folder());
    }
    for (const Tokenizer& tokenizer : tokenizers)
      if (const auto chat = ChatTemplate::pick(tokenizer, found)) test::render(*chat, tokenizer, text);
  });
  return 0;
}
