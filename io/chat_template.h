// How a conversation becomes tokens: ChatML and Llama 3. Only a template inserts special tokens; what people say
// is encoded with special tokens off, so no message can end itself or speak as someone else.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mplus/io/tokenizer.h"

namespace mplus::io {

enum class Role { system, user, assistant };
std::string_view role_name(Role role);

// Immutable; safe to share between threads.
class ChatTemplate {
 public:
  // `template_text` is what the model's files say (GGUF tokenizer.chat_template, tokenizer_config.json); when it
  // is empty the tokenizer's special tokens decide. None of the known kinds: nullopt.
  static std::optional<ChatTemplate> pick(const Tokenizer& tokenizer, std::string_view template_text);

  // ids[text_begin, text_end) hold the message's own text, the rest is the template's.
  struct Part {
    std::vector<TokenId> ids;
    std::size_t text_begin = 0;
    std::size_t text_end = 0;
  };
  Part message(Role role, std::string_view text) const;

  std::vector<TokenId> conversation_start() const;  // once, before the first message: Llama 3's bos, or nothing
  std::vector<TokenId> default_system() const;      // the system message the template adds when there is none
  std::vector<TokenId> open_assistant() const;      // the prefix that makes the model answer
  std::vector<TokenId> close_assistant() const;     // what follows the model's own text: <|im_end|>\n
  std::span<const TokenId> stop_ids() const { return stop_ids_; }
  std::string_view name() const { return name_; }  // "chatml", "llama3"

 private:
  explicit ChatTemplate(Tokenizer tokenizer) : tokenizer_(std::move(tokenizer)) {}
  static std::optional<ChatTemplate> chatml(const Tokenizer& tokenizer, std::string_view template_text);
  static std::optional<ChatTemplate> llama3(const Tokenizer& tokenizer, std::string_view template_text);
  std::vector<TokenId> header(Role role) const;

  Tokenizer tokenizer_;
  std::string_view name_;
  bool trims_ = false;                // the template strips white space around a message
  std::vector<TokenId> before_role_;  // <|im_start|>
  std::vector<TokenId> after_role_;   // Llama 3: <|end_header_id|>; ChatML: none, the line break is text
  std::string before_text_;           // the plain text between the last special token and the message
  std::vector<TokenId> after_text_;   // <|im_end|> and a line break
  std::vector<TokenId> start_;
  std::vector<TokenId> stop_ids_;
  std::string default_system_;
};

}  // namespace mplus::io
