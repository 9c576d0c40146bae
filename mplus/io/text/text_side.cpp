#include "mplus/io/text/text_side.h"

#include <array>
#include <fstream>

#include "mplus/core/files/file.h"
#include "mplus/io/gguf/gguf.h"
#include "mplus/io/text/json.h"
#include "mplus/io/tokenizer/tokenizer_spec.h"

namespace mplus::io {
namespace {

namespace fs = std::filesystem;

constexpr const char* kChatTemplate = "tokenizer.chat_template";  // in a GGUF

bool is_folder(const fs::path& model) {
  std::error_code ignored;
  return fs::is_directory(model, ignored);
}

bool is_gguf(const fs::path& model) {
  std::array<char, 4> magic{};
  std::ifstream(model, std::ios::binary).read(magic.data(), magic.size());
  return std::string_view(magic.data(), magic.size()) == "GGUF";
}

// What a folder says beside tokenizer.json: the tokens that begin and end a text, and the chat template.
std::string tokenizer_config(const TokenizerSpec& spec, const std::string& chat_template) {
  Json config = {{"tokenizer_class", "PreTrainedTokenizerFast"}, {"clean_up_tokenization_spaces", false}};
  const auto name = [&](const char* key, std::optional<TokenId> id) {
    if (id) config[key] = spec.tokens[static_cast<std::size_t>(*id)];
  };
  name("bos_token", spec.bos);
  name("eos_token", spec.eos);
  if (!chat_template.empty()) config["chat_template"] = chat_template;
  return config.dump(2);
}

}  // namespace

std::optional<TextSide> read_text_side(const fs::path& model) {
  if (is_folder(model)) {
    if (!fs::exists(model / "tokenizer.json")) return std::nullopt;
    const Tokenizer tokenizer = Tokenizer::from_file(model / "tokenizer.json");
    return TextSide{tokenizer, ChatTemplate::pick(tokenizer, read_chat_template(model))};
  }
  if (!is_gguf(model)) return std::nullopt;
  const Gguf file = Gguf::open(model);
  const Tokenizer tokenizer = Tokenizer::from_gguf(file);
  return TextSide{tokenizer, ChatTemplate::pick(tokenizer, file.get_string(kChatTemplate).value_or(""))};
}

bool write_text_side(const fs::path& model, const fs::path& folder) {
  if (is_folder(model)) {
    for (const char* name : {"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
                             "generation_config.json", "chat_template.jinja"})
      if (fs::exists(model / name))
        fs::copy_file(model / name, folder / name, fs::copy_options::overwrite_existing);
    return fs::exists(model / "tokenizer.json");
  }
  if (!is_gguf(model)) return false;
  const Gguf file = Gguf::open(model);
  const TokenizerSpec spec = read_tokenizer_gguf(file);
  write_text_file(folder / "tokenizer.json", write_tokenizer_json(spec), Readers::by_umask);
  write_text_file(folder / "tokenizer_config.json",
                  tokenizer_config(spec, file.get_string(kChatTemplate).value_or("")), Readers::by_umask);
  return true;
}

}  // namespace mplus::io
