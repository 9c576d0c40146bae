// Answers of the base model by itself (talk.h): over the conversation in the window, without the delta and
// without memory. What it says joins the window as text that waits to be read: the next turn reads it.
#include <algorithm>
#include <set>
#include <utility>

#include "mplus/core/error.h"
#include "mplus/engine/answer/answering.h"
#include "mplus/engine/answer/reread.h"

namespace mplus::engine {
namespace {

// Tokens of a conversation: to read a shorter one again costs less than to read it as a long prompt, apart
// from others' short ones.
constexpr std::int64_t kWorthKeeping = 128;
static_assert(kWorthKeeping >= model::kLeastAlike);

constexpr std::size_t kChunksLookedAt = 3;  // the best by words

}  // namespace

bool Answering::may_talk() const {
  if (replayed_ || options_.plain || options_.taps || options_.constraint || place_.question.empty())
    return false;
  if (engine_.weights().talk.empty() || !engine_.chat_template()) return false;
  const RecallPolicy& policy = reading_.policy();
  if (policy.talk != TalkRule::base) return false;
  // Over a caller's own strategy only if that is asked for.
  return options_.recall_strategy ? options_.recall.talk.has_value() : policy.rule != RecallRule::none;
}

bool Answering::in_conversation() const {
  return session_.record_.source(place_.source).speaker == Speaker::assistant;
}

// The message alone decides, as if it began a conversation.
Steps<> Answering::judge() {
  if (!may_talk()) co_return;
  const io::ChatTemplate& chat = *engine_.chat_template();
  const model::AttentionCache& start = engine_.talk_start();
  std::vector<io::TokenId> ids = chat.message(io::Role::user, place_.question).ids;
  const std::vector<io::TokenId> open = chat.open_assistant();
  ids.insert(ids.end(), open.begin(), open.end());
  if (start.most_rows() + std::ssize(ids) > session_.window_tokens()) co_return;
  const io::TalkProbe& probe = *engine_.weights().memory->talk;
  const auto d = static_cast<std::size_t>(engine_.weights().config.hidden);
  double score = 0;
  model::ReadTaps taps;
  taps.hidden_layer = probe.layer;
  taps.hidden = [&](std::int64_t, std::span<const float> hidden) {
    score = talk_score(hidden.last(d), {engine_.weights().talk.on_host<float>(), d + 1});
  };
  model::AttentionCache cache(probe.layer, engine_.workspace().kv_shape());
  cache.reserve(engine_.queue(), start.most_rows() + std::ssize(ids));
  cache.begin_with(engine_.queue(), start);
  Prefill read;
  read.item = {.tokens = ids,
               .cache = &cache,
               .logits_from = std::ssize(ids),
               .taps = &taps,
               .until_layer = probe.layer,
               .stop = options_.cancel.flag};
  read.logits = &keep_logits_;
  Work work = read;
  co_await Offer{work};
  talk_ = talk_by(score, probe);
  if (talk_ == Talk::yes && is_spoken_of()) talk_ = Talk::maybe;
}

// In memory or in the window.
bool Answering::is_spoken_of() const {
  const TalkWords words(place_.question);
  std::string window;
  for (const Span& span : waiting_) window.append(session_.record_.text(span)).append("\n");
  if (words.are_in(window)) return true;
  std::vector<std::pair<double, std::int64_t>> best;
  for (std::int64_t chunk = 0; options_.prior && chunk < session_.memory_.updates(); ++chunk)
    if (const double score = options_.prior(chunk); score > 0) best.emplace_back(-score, chunk);
  const auto looked_at = best.begin() + static_cast<std::ptrdiff_t>(std::min(best.size(), kChunksLookedAt));
  std::partial_sort(best.begin(), looked_at, best.end());
  return std::any_of(best.begin(), looked_at, [&](const auto& found) {
    return words.are_in(chunk_text(session_.record_, found.second));
  });
}

// A copy of the session that has the conversation before this message in its window, and nothing else.
Session Answering::conversation() const {
  Session copy = session_.fork();
  const std::int64_t message = in_conversation() ? place_.source - 1 : place_.source;
  const io::ChatTemplate& chat = *engine_.chat_template();
  std::set<std::int64_t> whole;  // messages
  bool has_system = false;
  for (const WindowToken& t : session_.window_) {
    const Speaker speaker = session_.record_.source(t.source).speaker;
    if (t.index > 0 || t.source >= message || speaker == Speaker::document) continue;
    whole.insert(t.source);
    has_system = has_system || speaker == Speaker::system;
  }
  const std::span<const io::TokenId> first = chat.conversation_start();
  const std::vector<io::TokenId> start =
      has_system ? std::vector<io::TokenId>(first.begin(), first.end()) : chat.start_with_system();
  copy.window_ = Session::tokens_of(start, copy.record_.add_source({"conversation", Speaker::system, ""}));
  for (const WindowToken& t : session_.window_)
    if (whole.contains(t.source)) copy.window_.push_back(t);
  begin_with_rows(copy, has_system);
  return copy;
}

// What was read already: the template's start, and what is kept of the conversation. A short one is read as
// short prompts are, and one that does not fit loses its own start: of these nothing is kept. Which of them
// it is follows from the conversation alone.
void Answering::begin_with_rows(Session& conversation, bool has_system) const {
  conversation.talk_rows_ = nullptr;
  if (has_system) conversation.rows_.truncate(0);
  else conversation.rows_ = engine_.talk_start_rows();
  const std::int64_t start = conversation.rows_.size();
  const io::ChatTemplate& chat = *engine_.chat_template();
  const std::int64_t all = conversation.window_size() +
                           std::ssize(chat.message(io::Role::user, place_.question).ids) +
                           std::ssize(chat.open_assistant());
  const std::int64_t fewest = std::max(kWorthKeeping, engine_.workspace().short_rows() + 1);
  const bool as_long = engine_.device().is_cpu() && all <= session_.window_tokens() && all - start >= fewest;
  conversation.talk_ = {.as_long = as_long, .start = start};
  if (!as_long || !session_.talk_rows_) return;
  std::vector<io::TokenId> ids;
  for (const WindowToken& t : conversation.window_) ids.push_back(t.id);
  const TalkRows& kept = *session_.talk_rows_;
  const std::int64_t rows = std::min(kept.common(ids, start), all - model::kLeastAlike);
  if (rows <= start) return;
  conversation.rows_ = kept.first(rows);
  conversation.talk_.kept = rows - start;
}

// Of the prompt alone: an answer's tokens were computed one by one, and are read anew.
void Answering::keep_rows(const Session& conversation, const Answer& answer) {
  session_.talk_rows_ = nullptr;
  const bool overflowed = conversation.record_.updates() != session_.record_.updates();
  if (!conversation.talk_.as_long || overflowed) return;
  std::vector<io::TokenId> ids;
  for (const WindowToken& t : conversation.window_) ids.push_back(t.id);
  ids.resize(static_cast<std::size_t>(conversation.rows_.size() - answer.read_tokens));
  session_.talk_rows_ = TalkRows::kept(std::move(ids), conversation.talk_.start, conversation.rows_);
}

GenerateOptions Answering::base_options() const {
  GenerateOptions options = options_;
  options.plain = true;
  options.recall = {};
  options.prior = nullptr;
  options.words = nullptr;
  options.why = false;
  options.reread = 0;
  const std::string& stop = engine_.weights().memory->stop;  // of the delta's own form
  if (!in_conversation() && !options.stop.empty() && options.stop.back() == stop) options.stop.pop_back();
  return options;
}

Steps<Answer> Answering::answer_by_base() {
  Session copy = conversation();
  const GenerateOptions options = base_options();
  Answer answer = co_await copy.turn(place_.question, options, nullptr);
  if (answer.reason == StopReason::cancelled && answer.tokens.empty())
    fail(ErrorCode::cancelled, "stopped on request");
  keep_rows(copy, answer);
  answer.by_base = true;
  answer.recall = RecallRule::none;
  answer.recalled_births.assign(static_cast<std::size_t>(engine_.layout().layers), {});
  answer.seen_births.clear();
  answer.passed = std::move(answer_.passed);
  answer.refuted = std::move(answer_.refuted);
  answer.prefill_seconds += answer_.prefill_seconds;
  answer.decode_seconds += answer_.decode_seconds;
  if (in_conversation()) co_await leave_unread(answer.tokens);
  answer.read_tokens = 0;
  co_return answer;
}

Steps<Answer> Answering::take_base_answer() {
  session_.check_ids(replayed_->answer_ids);
  answer_.by_base = true;
  answer_.tokens.assign(replayed_->answer_ids.begin(), replayed_->answer_ids.end());
  answer_.text = replayed_->answer;
  answer_.recalled_births.assign(static_cast<std::size_t>(engine_.layout().layers), {});
  co_await leave_unread(answer_.tokens);
  co_return std::move(answer_);
}

Steps<> Answering::leave_unread(std::span<const io::TokenId> ids) {
  std::vector<WindowToken> tokens;
  WindowToken token = first_token();
  for (const io::TokenId id : ids) {
    token.id = id;
    token.byte_begin = token.byte_end;
    token.byte_end += std::ssize(engine_.tokenizer().token_bytes(id));
    tokens.push_back(token);
    ++token.index;
  }
  co_await session_.append_prompt(std::move(tokens));
}

}  // namespace mplus::engine
