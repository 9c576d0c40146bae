#include "mplus/io/text/chat_template.h"

#include <algorithm>

#include "mplus/core/files/file.h"
#include "mplus/core/text.h"
#include "mplus/io/text/json.h"

namespace mplus::io {
namespace {

constexpr std::string_view kChatMlMark = "<|im_start|>";
constexpr std::string_view kLlama3Mark = "<|start_header_id|>";

void append(std::vector<TokenId>& ids, std::span<const TokenId> more) {
  ids.insert(ids.end(), more.begin(), more.end());
}

// The text a ChatML template itself gives as a system message: a literal between the marks, with the line
// break as such or as Jinja's \n. Anything with an expression in it is not a default.
std::string literal_system_message(std::string_view source) {
  for (const std::string_view open : {"<|im_start|>system\n", "<|im_start|>system\\n"}) {
    for (std::size_t at = source.find(open); at != source.npos; at = source.find(open, at + 1)) {
      const std::string_view rest = source.substr(at + open.size());
      const std::string_view text = rest.substr(0, rest.find("<|im_end|>"));
      if (text.size() < rest.size() && text.find_first_of("'\"{}\\") == text.npos) return std::string(text);
    }
  }
  return {};
}

}  // namespace

std::string_view role_name(Role role) {
  switch (role) {
    case Role::system:
      return "system";
    case Role::user:
      return "user";
    case Role::assistant:
      return "assistant";
  }
  return "";
}

std::optional<ChatTemplate> ChatTemplate::pick(const Tokenizer& tokenizer, std::string_view template_text) {
  const bool silent = template_text.empty();
  if (silent || template_text.find(kLlama3Mark) != template_text.npos)
    if (auto found = llama3(tokenizer)) return found;
  if (silent || template_text.find(kChatMlMark) != template_text.npos)
    if (auto found = chatml(tokenizer, template_text)) return found;
  return std::nullopt;
}

std::optional<ChatTemplate> ChatTemplate::chatml(const Tokenizer& tokenizer, std::string_view template_text) {
  const auto start = tokenizer.special(kChatMlMark);
  const auto end = tokenizer.special("<|im_end|>");
  if (!start || !end) return std::nullopt;
  ChatTemplate t(tokenizer);
  t.name_ = "chatml";
  t.before_role_ = {*start};
  t.before_text_ = "\n";
  t.after_text_ = {*end};
  append(t.after_text_, tokenizer.encode("\n"));
  t.add_stops({end, tokenizer.eos(), tokenizer.special("<|endoftext|>")});
  t.default_system_ = literal_system_message(template_text);
  return t;
}

std::optional<ChatTemplate> ChatTemplate::llama3(const Tokenizer& tokenizer) {
  const auto start = tokenizer.special(kLlama3Mark);
  const auto header_end = tokenizer.special("<|end_header_id|>");
  const auto end = tokenizer.special("<|eot_id|>");
  if (!start || !header_end || !end) return std::nullopt;
  ChatTemplate t(tokenizer);
  t.name_ = "llama3";
  t.trims_ = true;
  t.before_role_ = {*start};
  t.after_role_ = header_end;
  t.before_text_ = "\n\n";
  t.after_text_ = {*end};
  if (const auto bos = tokenizer.special("<|begin_of_text|>")) t.start_ = {*bos};
  t.add_stops({end, tokenizer.eos(), tokenizer.special("<|end_of_text|>"), tokenizer.special("<|eom_id|>")});
  return t;
}

void ChatTemplate::add_stops(std::initializer_list<std::optional<TokenId>> ids) {
  for (const auto& id : ids)
    if (id && std::find(stop_ids_.begin(), stop_ids_.end(), *id) == stop_ids_.end()) stop_ids_.push_back(*id);
}

// Everything between two special tokens is encoded at once, as it would be in the whole rendered
// conversation: a message that starts with white space shares a token with the line break before it.
ChatTemplate::MessageIds ChatTemplate::message(Role role, std::string_view text) const {
  if (trims_) text = trim(text);
  MessageIds part;
  part.ids = before_role_;
  std::string plain(role_name(role));
  if (after_role_) {
    append(part.ids, tokenizer_.encode(plain));
    part.ids.push_back(*after_role_);
    plain.clear();
  }
  plain += before_text_;
  const std::size_t header = plain.size();
  plain += text;
  const Tokenizer::Offsets encoded = tokenizer_.encode_with_offsets(plain);
  const auto is_header = [header](std::uint32_t end) { return end <= header; };
  const auto first_of_text = std::partition_point(encoded.ends.begin(), encoded.ends.end(), is_header);
  part.text_begin = part.ids.size() + static_cast<std::size_t>(first_of_text - encoded.ends.begin());
  append(part.ids, encoded.ids);
  part.text_end = part.ids.size();
  append(part.ids, after_text_);
  return part;
}

std::vector<TokenId> ChatTemplate::start_with_system() const {
  std::vector<TokenId> ids(conversation_start().begin(), conversation_start().end());
  const std::vector<TokenId> system = default_system();
  ids.insert(ids.end(), system.begin(), system.end());
  return ids;
}

std::vector<TokenId> ChatTemplate::default_system() const {
  return default_system_.empty() ? std::vector<TokenId>{} : message(Role::system, default_system_).ids;
}

std::vector<TokenId> ChatTemplate::open_assistant() const {
  MessageIds empty = message(Role::assistant, "");
  empty.ids.resize(empty.text_end);
  return std::move(empty.ids);
}

std::vector<TokenId> ChatTemplate::close_assistant() const { return after_text_; }

std::string read_chat_template(const std::filesystem::path& folder) {
  if (const auto jinja = folder / "chat_template.jinja"; std::filesystem::exists(jinja))
    return read_text_file(jinja);
  const std::filesystem::path path = folder / "tokenizer_config.json";
  if (!std::filesystem::exists(path)) return {};
  const std::string name = path.string();
  const Json json = parse_json(read_text_file(path), name);
  const JsonFields config(json, name);
  const Json* value = config.find("chat_template");
  if (value == nullptr || !value->is_array()) return config.string("chat_template").value_or("");
  for (const Json& entry : *value) {
    const JsonFields fields(entry, name, "chat_template");
    if (fields.string("name") == "default") return fields.string("template").value_or("");
  }
  return {};
}

}  // namespace mplus::io
