// Text that comes out of a generation: ids become characters, stop strings end it, the caller sees every
// piece. Where an answer may turn out to be none, what could become that is held back until it is known.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "mplus/core/text.h"
#include "mplus/engine/answer/answer.h"
#include "mplus/engine/answer/text/stop_text.h"
#include "mplus/io/tokenizer/tokenizer.h"

namespace mplus::engine {

class AnswerText {
 public:
  // `tokenizer`: null where there are ids alone. `options` must outlive it. `no_answer`: an answer that
  // begins so is none, and ends there unseen; empty: whatever comes is one. `quotes`: what does not stand in
  // this text is no answer, either; empty: it need not. `refutes`: asked once, when the answer has ended or
  // is longer than answers to questions are; null: nothing does.
  using Refutes = std::function<bool(std::string_view said)>;
  AnswerText(const io::Tokenizer* tokenizer, const GenerateOptions& options, std::string no_answer,
             std::string quotes = "", Refutes refutes = nullptr);

  bool push(io::TokenId id);  // false: the answer ends here, for reason()
  StopReason reason() const { return reason_; }
  bool is_none() const;  // by what was said so far
  bool is_refuted();     // now that it has ended
  std::string_view said() const { return trim(text_); }
  bool is_empty() const { return trim(text_).empty(); }
  bool stands();  // whatever it says, it is the answer; false: nobody wants to see more
  std::string finish();

 private:
  bool show(const std::string& piece);

  const GenerateOptions& options_;
  std::string no_answer_, quotes_;
  Refutes refutes_;  // null: it was asked
  bool refuted_ = false;
  StopText stop_;
  std::optional<io::StreamDecoder> decoder_;
  std::string text_;
  std::size_t shown_ = 0;  // bytes of it
  StopReason reason_ = StopReason::max_tokens;
};

}  // namespace mplus::engine
