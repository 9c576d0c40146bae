#include "mplus/engine/answer/text/answer_text.h"

#include <utility>

namespace mplus::engine {
namespace {

constexpr std::size_t kHeldBack = 200;  // bytes, while it is open whether they are an answer

}  // namespace

AnswerText::AnswerText(const io::Tokenizer* tokenizer, const GenerateOptions& options, std::string no_answer,
                       std::string quotes, Refutes refutes)
    : options_(options),
      no_answer_(std::move(no_answer)),
      quotes_(std::move(quotes)),
      refutes_(std::move(refutes)),
      stop_(options.stop) {
  if (tokenizer) decoder_.emplace(*tokenizer);
}

bool AnswerText::push(io::TokenId id) {
  const bool wanted = show(stop_.push(decoder_ ? decoder_->push(id) : ""));
  if (!wanted) reason_ = StopReason::cancelled;
  if (stop_.stopped()) reason_ = StopReason::stop_string;
  return wanted && !stop_.stopped() && !is_none();
}

bool AnswerText::is_none() const {
  if (refuted_) return true;
  std::string_view said = trim(text_);
  if (!no_answer_.empty() && said.starts_with(no_answer_)) return true;
  if (!said.empty() && said.back() == '.') said.remove_suffix(1);  // ends the answer, need not end a sentence
  return !quotes_.empty() && !contains_ignoring_case(quotes_, said);
}

bool AnswerText::is_refuted() {
  if (const Refutes refutes = std::exchange(refutes_, nullptr)) refuted_ = refutes(said());
  return refuted_;
}

bool AnswerText::stands() {
  refutes_ = nullptr;
  no_answer_.clear();
  quotes_.clear();
  return show("");
}

std::string AnswerText::finish() {
  if (decoder_) show(stop_.push(decoder_->finish()));
  show(stop_.finish());
  return std::move(text_);
}

bool AnswerText::show(const std::string& piece) {
  text_ += piece;
  if (text_.size() > kHeldBack && is_refuted()) return true;
  const std::string_view said = trim(text_), none = no_answer_;
  if (refuted_ || refutes_ || !quotes_.empty() ||
      (!none.empty() && (none.starts_with(said) || said.starts_with(none))))
    return true;
  const std::string_view unseen = std::string_view(text_).substr(shown_);
  shown_ = text_.size();
  return unseen.empty() || !options_.on_text || options_.on_text(unseen);
}

}  // namespace mplus::engine
