#include "mplus/eval/run/planned_updates.h"

#include <algorithm>

#include "mplus/core/error.h"
#include "mplus/engine/cutting.h"

namespace mplus::eval {
namespace {

// A token of a conversation: of which message, and its bytes; a template's has none.
struct Spoken {
  io::TokenId id = 0;
  int message = 0;
  std::string_view bytes = {};
};

// A session's window and how it is emptied.
class Window {
 public:
  explicit Window(const engine::Engine& engine)
      : C_(engine.chunk_tokens()), K_(engine.layout().K), W_(engine.window_tokens()) {}

  void append(const std::vector<Spoken>& tokens) {
    while (size() + std::ssize(tokens) > W_ && size() >= engine::kLeastChunk)
      write_front(std::min(C_, size()));
    window_.insert(window_.end(), tokens.begin(), tokens.end());
    if (const std::int64_t excess = size() - W_; excess >= engine::kLeastChunk)
      for (const std::int64_t length : engine::cut_text(excess, C_, K_)) write_front(length);
  }
  void append_answer_token(const Spoken& token) {
    if (size() >= W_) write_front(std::min(C_, size()));
    window_.push_back(token);
  }
  std::vector<PlannedUpdate> flush() {
    if (size() < engine::kLeastChunk)
      fail(ErrorCode::invalid_argument, "a conversation's last {} tokens are too few to be written", size());
    for (const std::int64_t length : engine::cut_text(size(), C_, K_)) write_front(length);
    return std::move(updates_);
  }

 private:
  std::int64_t size() const { return std::ssize(window_); }

  void write_front(std::int64_t count) {
    PlannedUpdate update;
    std::string said;
    const auto take = [&] {
      if (!said.empty()) update.text += fmt::format("{}{}", update.text.empty() ? "" : "\n", said);
      said.clear();
    };
    for (std::int64_t i = 0; i < count; ++i) {
      const Spoken& token = window_[static_cast<std::size_t>(i)];
      if (i > 0 && token.message != window_[static_cast<std::size_t>(i - 1)].message) take();
      update.ids.push_back(token.id);
      said += token.bytes;
    }
    take();
    window_.erase(window_.begin(), window_.begin() + count);
    updates_.push_back(std::move(update));
  }

  std::int64_t C_, K_, W_;
  std::vector<Spoken> window_;
  std::vector<PlannedUpdate> updates_;
};

}  // namespace

std::vector<PlannedUpdate> updates_of_text(const engine::Engine& engine, const std::string& text) {
  const io::Tokenizer::Offsets tokens = engine.tokenizer().encode_with_offsets(text);
  const std::int64_t n = std::ssize(tokens.ids);
  if (n < std::min(engine.layout().K, engine::kLeastChunk))
    fail(ErrorCode::invalid_argument, "a text of {} tokens is too short to be written", n);
  const std::vector<std::int64_t> lengths = engine::cut_text(n, engine.chunk_tokens(), engine.layout().K);
  std::vector<PlannedUpdate> updates;
  std::int64_t begin = 0;
  std::size_t byte = 0;
  for (const std::int64_t length : lengths) {
    const auto end = static_cast<std::size_t>(begin + length);
    const std::size_t end_byte = tokens.ends[end - 1];
    updates.push_back(
        {.ids = {tokens.ids.begin() + begin, tokens.ids.begin() + static_cast<std::ptrdiff_t>(end)},
         .text = text.substr(byte, end_byte - byte),
         .plain = lengths.size() == 1});
    begin += length;
    byte = end_byte;
  }
  return updates;
}

std::vector<PlannedUpdate> updates_of_conversation(const engine::Engine& engine,
                                                   const std::vector<Turn>& turns, bool first) {
  if (!engine.chat_template()) fail(ErrorCode::unsupported, "this model's files name no chat template");
  const io::ChatTemplate& chat = *engine.chat_template();
  const io::Tokenizer& tokenizer = engine.tokenizer();
  Window window(engine);
  int message = 0;
  const auto template_tokens = [&](const std::vector<io::TokenId>& ids) {
    std::vector<Spoken> tokens;
    tokens.reserve(ids.size());
    for (const io::TokenId id : ids) tokens.push_back({.id = id, .message = message});
    return tokens;
  };
  if (first) window.append(template_tokens(chat.default_system()));
  for (std::size_t t = 0; t < turns.size(); ++t) {
    if (turns[t].role != io::Role::user)
      fail(ErrorCode::corrupt, "turn {} of a conversation: expected the user's, found another's", t + 1);
    ++message;
    const io::ChatTemplate::MessageIds part = chat.message(io::Role::user, turns[t].content);
    std::vector<Spoken> tokens = template_tokens(part.ids);
    for (std::size_t i = part.text_begin; i < part.text_end; ++i)
      tokens[i].bytes = tokenizer.token_bytes(tokens[i].id);
    window.append(tokens);
    ++message;
    window.append(template_tokens(chat.open_assistant()));
    const bool answered = t + 1 < turns.size() && turns[t + 1].role == io::Role::assistant;
    if (answered) {
      ++t;
      for (const io::TokenId id : tokenizer.encode(turns[t].content))
        window.append_answer_token({.id = id, .message = message, .bytes = tokenizer.token_bytes(id)});
    }
    window.append(template_tokens(chat.close_assistant()));
  }
  return window.flush();
}

}  // namespace mplus::eval
