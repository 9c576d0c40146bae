// What turns text into a model's tokens: tokenizer and chat template, from a Hugging Face folder or a GGUF.
#pragma once

#include <filesystem>
#include <optional>

#include "mplus/io/text/chat_template.h"
#include "mplus/io/tokenizer/tokenizer.h"

namespace mplus::io {

struct TextSide {
  Tokenizer tokenizer;
  std::optional<ChatTemplate> chat;
};

// Nothing where the model's files have no tokenizer: a folder without tokenizer.json, a bare file of weights.
std::optional<TextSide> read_text_side(const std::filesystem::path& model);

// The model's text side as files of a Hugging Face folder that exists: copied from a folder, written from a
// GGUF. False where the model has none.
bool write_text_side(const std::filesystem::path& model, const std::filesystem::path& folder);

}  // namespace mplus::io
