#include "mplus/io/tokenizer/tokenizer_json.h"

#include <filesystem>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/io/text/names.h"
#include "mplus/io/tokenizer/bpe_alphabet.h"

namespace mplus::io {
namespace {

void check_model(const JsonFields& model) {
  if (const auto type = model.string("type"); type && *type != "BPE")
    fail(ErrorCode::unsupported, "{}: expected BPE, found {}", model.label("type"), shown(*type));
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (const auto text = model.string(key); text && !text->empty())
      fail(ErrorCode::unsupported, "{}: expected none, found {}", model.label(key), shown(*text));
  if (model.boolean("byte_fallback").value_or(false))
    fail(ErrorCode::unsupported, "{}: expected false, found true", model.label("byte_fallback"));
  if (model.number("dropout").value_or(0.0) != 0.0)
    fail(ErrorCode::unsupported, "{}: expected none, found a probability", model.label("dropout"));
}

void place(TokenizerSpec& spec, std::int64_t id, const std::string& token) {
  const auto at = static_cast<std::size_t>(id);
  if (at >= spec.tokens.size()) spec.tokens.resize(at + 1);
  std::string& there = spec.tokens[at];
  if (!there.empty() && there != token)
    fail(ErrorCode::corrupt, "{}: vocabulary: id {}: expected one token, found {} and {}", spec.name, id,
         shown(there), shown(token));
  there = token;
}

void read_vocabulary(const JsonFields& model, std::int64_t largest, TokenizerSpec& spec) {
  const Json* vocabulary = model.find("vocab");
  if (vocabulary == nullptr || !vocabulary->is_object())
    fail(ErrorCode::corrupt, "{}: expected an object of tokens and ids, found {}", model.label("vocab"),
         vocabulary == nullptr ? "nothing" : vocabulary->type_name());
  spec.tokens.resize(vocabulary->size());
  for (const auto& [token, id] : vocabulary->get_ref<const Json::object_t&>()) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() > static_cast<std::uint64_t>(largest))
      fail(ErrorCode::corrupt, "{}: token {}: expected an id from 0 to {}, found {}", model.label("vocab"),
           shown(token), largest, shown(id.dump(-1, ' ', true)));
    place(spec, id.get<std::int64_t>(), token);
  }
}

AddedToken read_added_token(const JsonFields& fields, std::int64_t largest) {
  AddedToken token;
  token.id = static_cast<TokenId>(fields.required_integer("id", 0, largest));
  token.content = required_string(fields, "content");
  if (token.content.empty())
    fail(ErrorCode::corrupt, "{}: expected a text, found an empty one", fields.label("content"));
  token.special = fields.boolean("special").value_or(false);
  token.normalized = fields.boolean("normalized").value_or(!token.special);
  token.lstrip = fields.boolean("lstrip").value_or(false);
  token.rstrip = fields.boolean("rstrip").value_or(false);
  if (fields.boolean("single_word").value_or(false))
    fail(ErrorCode::unsupported, "{}: expected false, found true", fields.label("single_word"));
  return token;
}

void read_merges(const JsonFields& model, const TokenIndex& index, TokenizerSpec& spec) {
  const Json& list = required_list(model, "merges");
  spec.merges.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Json& merge = list[i];
    const auto text = [](const Json& part) -> const std::string& {
      return part.get_ref<const std::string&>();
    };
    if (merge.is_string()) {
      spec.merges.push_back(index.merge(text(merge), i));
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      spec.merges.push_back(index.merge(text(merge[0]), text(merge[1]), i));
    } else {
      fail(ErrorCode::corrupt, "{}[{}]: expected two tokens, found {}", model.label("merges"), i,
           merge.type_name());
    }
  }
}

// With an unknown token `tokenizers` puts it where we drop a byte; with every byte known it never comes up.
void check_unknown(const JsonFields& model, const TokenIndex& index) {
  const auto unknown = model.string("unk_token");
  if (!unknown) return;
  for (unsigned byte = 0; byte < 256; ++byte)
    if (!index.find(spelled_byte(static_cast<std::uint8_t>(byte))))
      fail(ErrorCode::unsupported, "{}: expected none where bytes are missing (0x{:02x}), found {}",
           model.label("unk_token"), byte, shown(*unknown));
}

// "bos_token": "<s>" or {"content": "<s>", …}
std::optional<TokenId> named_token(const JsonFields& config, std::string_view key,
                                   const TokenizerSpec& spec) {
  const Json* value = config.find(key);
  if (value == nullptr) return std::nullopt;
  const std::string content =
      value->is_object() ? required_string(*config.object(key), "content") : required_string(config, key);
  for (const AddedToken& token : spec.added)
    if (token.content == content) return token.id;
  return std::nullopt;
}

std::optional<TokenId> numbered_token(const JsonFields& config, std::string_view key,
                                      const TokenizerSpec& spec) {
  const auto ids = config.integers(key, 0, INT32_MAX);
  if (!ids || ids->empty() || ids->front() >= static_cast<std::int64_t>(spec.tokens.size()))
    return std::nullopt;
  return static_cast<TokenId>(ids->front());
}

}  // namespace

JsonFields required_object(const JsonFields& parent, std::string_view key) {
  auto object = parent.object(key);
  if (!object) fail(ErrorCode::corrupt, "{}: expected an object, found nothing", parent.label(key));
  return *std::move(object);
}

const Json& required_list(const JsonFields& parent, std::string_view key) {
  const Json* list = parent.find(key);
  if (list == nullptr || !list->is_array())
    fail(ErrorCode::corrupt, "{}: expected a list, found {}", parent.label(key),
         list == nullptr ? "nothing" : list->type_name());
  return *list;
}

std::string required_string(const JsonFields& parent, std::string_view key) {
  auto text = parent.string(key);
  if (!text) fail(ErrorCode::corrupt, "{}: expected a string, found nothing", parent.label(key));
  return *std::move(text);
}

TokenizerSpec read_tokenizer_json(std::string_view text, std::string_view name) {
  const Json json = parse_json(text, name);
  const JsonFields root(json, name);
  const JsonFields model = required_object(root, "model");
  TokenizerSpec spec;
  spec.name = name;
  check_model(model);
  const std::size_t added = root.has("added_tokens") ? required_list(root, "added_tokens").size() : 0;
  const Json* vocabulary = model.find("vocab");
  const std::int64_t largest = largest_token_id((vocabulary != nullptr ? vocabulary->size() : 0) + added);
  read_vocabulary(model, largest, spec);
  for (std::size_t i = 0; i < added; ++i) {
    const JsonFields fields((*root.find("added_tokens"))[i], name, fmt::format("added_tokens[{}]", i));
    spec.added.push_back(read_added_token(fields, largest));
    place(spec, spec.added.back().id, spec.added.back().content);
  }
  const TokenIndex index(spec.tokens, name);
  read_merges(model, index, spec);
  check_unknown(model, index);
  spec.ignore_merges = model.boolean("ignore_merges").value_or(false);
  read_text_rules(root, spec);
  return spec;
}

void read_special_ids(TokenizerSpec& spec, const std::filesystem::path& folder) {
  const auto each = [&](const char* file, auto&& read) {
    const std::filesystem::path path = folder / file;
    if (!std::filesystem::exists(path)) return;
    const std::string name = path.string();
    const Json json = parse_json(read_text_file(path), name);
    read(JsonFields(json, name));
  };
  each("tokenizer_config.json", [&](const JsonFields& config) {
    spec.bos = named_token(config, "bos_token", spec);
    spec.eos = named_token(config, "eos_token", spec);
  });
  each("config.json", [&](const JsonFields& config) {
    if (!spec.bos) spec.bos = numbered_token(config, "bos_token_id", spec);
    if (!spec.eos) spec.eos = numbered_token(config, "eos_token_id", spec);
  });
}

}  // namespace mplus::io
