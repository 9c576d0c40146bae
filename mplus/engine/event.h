// What happens to a session, as a log would keep it: from the events alone, in order, the session can be made
// again (engine/replay.h). Who changes a session says who is told of it; the session itself knows nobody.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "mplus/engine/record.h"
#include "mplus/io/tokenizer/tokenizer.h"

namespace mplus::engine {

// A document or a system message. A long document is told again after every update, with more of it taken in:
// whoever logs it keeps the last word.
struct TextTaken {
  std::string_view source = {};
  Speaker speaker = Speaker::document;
  std::string_view text = {};             // whole, also while only a part of it has been taken in
  std::span<const io::TokenId> ids = {};  // of a document given as ids, which has no text
  std::int64_t token_begin = 0;           // tokens before it were taken in earlier: a document continued
  std::int64_t token_end = 0;
  std::int64_t byte_begin = 0, byte_end = 0;  // the same places in the text
  bool complete = true;
};

inline constexpr std::string_view kByBase = "base";

// A turn of conversation: what was said, what was answered, and what the model looked at.
struct TurnTaken {
  std::string_view message = {};
  std::string_view answer = {};
  std::span<const io::TokenId> answer_ids = {};
  std::int64_t answer_read = 0;  // of them, those that the model has read back by now
  // The rule's name; "" if the caller brought a strategy of its own, kByBase if the base model answered.
  std::string_view recall = {};
  // [L], in the order they were attended to; [2·L], where not all of short-term memory was seen: the second
  // half is what was.
  std::span<const std::vector<std::int64_t>> recalled_births = {};
  std::span<const std::int64_t> reread = {};  // chunks whose text stood in front of the message
};

struct Flushed {};

using Event = std::variant<TextTaken, TurnTaken, Flushed>;

// Called once an event has taken effect; views are valid during the call. What it throws reaches whoever
// changes the session, which has changed by then. Null: nobody is told.
using EventSink = std::function<void(const Event&)>;

}  // namespace mplus::engine
