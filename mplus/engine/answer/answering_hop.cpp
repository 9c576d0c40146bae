// An answer's second hop (hop.h): a second question, whose answer is taken. The first is read with the rows
// of both passages.
#include <algorithm>
#include <array>
#include <utility>

#include "mplus/core/error.h"
#include "mplus/core/text.h"
#include "mplus/engine/answer/answering.h"
#include "mplus/engine/answer/reread.h"
#include "mplus/engine/generation.h"

namespace mplus::engine {
namespace {

constexpr std::size_t kLongestDoubted = 100;  // bytes: longer answers are no names, places or numbers

}  // namespace

Hop::Passages Answering::hop_passages() const {
  return {.text = [this](std::int64_t chunk) { return chunk_text(session_.record_, chunk); },
          .find =
              [this](std::string_view words) {
                const memory::Prior score = options_.words(words);
                std::vector<std::pair<double, std::int64_t>> found;
                for (std::int64_t chunk = 0; chunk < session_.memory_.updates(); ++chunk)
                  if (const double s = score(chunk); s > 0) found.emplace_back(-s, chunk);
                std::sort(found.begin(), found.end());
                std::vector<std::int64_t> chunks;
                chunks.reserve(found.size());
                for (const auto& [s, chunk] : found) chunks.push_back(chunk);
                return chunks;
              }};
}

// Looked for once, when it is first wanted.
bool Answering::may_hop() {
  if (hopped_) return false;
  if (hop_) return link_.has_value();
  if (!evidence_ || reading_.policy().hops < 2 || !options_.words || options_.reread > 0) return false;
  hop_.emplace(*evidence_, place_.question);
  const Hop::Passages passages = hop_passages();
  std::vector<std::int64_t> found = reading_.found_order();
  if (found.empty()) found = passages.find(place_.question);  // a memory that is read as a whole
  link_ = hop_->from(found, passages);
  return link_.has_value();
}

bool Answering::doubts(std::string_view said, const Passage& read) {
  const bool short_answer = said.size() <= kLongestDoubted;
  doubted_ = short_answer && may_hop() && hop_->doubts(said, read.text, *link_);
  return doubted_;
}

// What was said by itself: by one passage before the hop, or to the second question.
Steps<> Answering::say_again(const Said& said) {
  co_await take_tokens(said.tokens, said.read);
  AnswerText text(&engine_.tokenizer(), options_, "");
  for (const io::TokenId id : said.tokens) text.push(id);
  answer_.text = text.finish();
  answer_.reason = said.reason;
}

Steps<> Answering::begin_hop() {
  if (doubted_) said_before_ = Said{answer_.tokens, answer_.read_tokens, answer_.reason};
  doubted_ = false;
  hopped_ = true;
  const std::array<std::int64_t, 2> chunks = {link_->from, link_->to};
  say_next_ = co_await ask_on();
  if (!say_next_) {
    give_up_hop();
    co_return;
  }
  answer_.asked_on = link_->question;
  std::erase_if(answer_.passed, [&](std::int64_t chunk) { return chunk == chunks[0] || chunk == chunks[1]; });
  reading_.read_together(chunks);
}

// The second question, of a copy that has not heard the first. None: it has no answer.
Steps<std::optional<Answering::Said>> Answering::ask_on() {
  Session copy = session_.fork();
  copy.window_.erase(copy.window_.begin() + already_read_, copy.window_.end());
  GenerateOptions options = options_;
  options.on_text = nullptr;
  options.taps = nullptr;
  options.chances.reset();
  options.why = false;
  // The passage is known: its rows, and its text in front of the question.
  options.recall_strategy = nullptr;
  options.recall.rule = RecallRule::words;
  options.prior = [to = link_->to](std::int64_t chunk) { return chunk == to ? 1.0 : 0.0; };
  options.reread = 1;
  options.recall.hops = 1;
  Generation generation = Generation::ask(copy, link_->question, std::move(options));
  co_await work_of(generation);
  Answer answer = generation.answer();
  if (answer.reason == StopReason::cancelled) fail(ErrorCode::cancelled, "stopped on request");
  for (Refuted& refuted : answer.refuted) answer_.refuted.push_back(std::move(refuted));
  const std::string_view text = trim(answer.text);
  if (text.empty() || text.starts_with(reading_.policy().no_answer)) co_return std::nullopt;
  const bool in_conversation = session_.record_.source(place_.source).speaker == Speaker::assistant;
  if (!in_conversation) co_return Said{std::move(answer.tokens), answer.read_tokens, answer.reason};
  Said said{engine_.tokenizer().encode(text), 0, StopReason::end_of_text};
  said.read = std::ssize(said.tokens);
  co_return said;
}

void Answering::give_up_hop() {
  reading_.again();
  say_next_ = said_before_;
  no_answer_ = !said_before_;
  by_base_ = no_answer_ && talk_ == Talk::maybe;
}

}  // namespace mplus::engine
