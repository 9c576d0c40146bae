// How a conversation becomes tokens: ChatML and Llama 3. Only a template inserts special tokens; what people
// say is encoded with special tokens off, so no message can end itself or speak as someone else.
#pragma once

#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mplus/io/tokenizer/tokenizer.h"

namespace mplus::io {

enum class Role { system, user, assistant };
std::string_view role_name(Role role);

// Immutable; safe to share between threads.
class ChatTemplate {
 public:
  // `template_text` is what the model's files say (GGUF tokenizer.chat_template, tokenizer_config.json); when
  // it is empty the tokenizer's special tokens decide. None of the known kinds: nullopt.
  static std::optional<ChatTemplate> pick(const Tokenizer& tokenizer, std::string_view template_text);

  // ids[text_begin, text_end) hold the message's own text, the rest is the template's.
  struct MessageIds {
    std::vector<TokenId> ids;
    std::size_t text_begin = 0;
    std::size_t text_end = 0;
  };
  MessageIds message(Role role, std::string_view text) const;

  std::span<const TokenId> conversation_start() const {
    return start_;
  }                                                // once, first: Llama 3's bos, or nothing
  std::vector<TokenId> default_system() const;     // the system message the template adds when there is none
  std::vector<TokenId> start_with_system() const;  // both, as they stand in front of a first message
  std::vector<TokenId> open_assistant() const;     // the prefix that makes the model answer
  std::vector<TokenId> close_assistant() const;    // what follows the model's own text: <|im_end|>\n
  std::span<const TokenId> stop_ids() const { return stop_ids_; }
  std::string_view name() const { return name_; }  // "chatml", "llama3"

 private:
  explicit ChatTemplate(Tokenizer tokenizer) : tokenizer_(std::move(tokenizer)) {}
  static std::optional<ChatTemplate> chatml(const Tokenizer& tokenizer, std::string_view template_text);
  static std::optional<ChatTemplate> llama3(const Tokenizer& tokenizer);
  void add_stops(std::initializer_list<std::optional<TokenId>> ids);

  // A message: before_role_ role [after_role_] before_text_ text after_text_
  Tokenizer tokenizer_;
  std::string_view name_;
  bool trims_ = false;  // the template strips white space around a message
  std::vector<TokenId> before_role_;
  std::optional<TokenId> after_role_;
  std::string_view before_text_;
  std::vector<TokenId> after_text_;
  std::vector<TokenId> start_;
  std::vector<TokenId> stop_ids_;
  std::string default_system_;
};

// The template a Hugging Face folder holds: chat_template.jinja, or "chat_template" of tokenizer_config.json
// (of several the one named "default"). Empty if there is none.
std::string read_chat_template(const std::filesystem::path& folder);

}  // namespace mplus::io
