#include "mplus/engine/answer/answering.h"

#include <algorithm>

#include "mplus/core/error.h"
#include "mplus/engine/answer/answer_text.h"

namespace mplus::engine {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kPenaltyTokens = 64;  // a repetition penalty looks this far back

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The chunk whose rows were read, where it was one.
std::optional<std::int64_t> chunk_seen(const Answer& answer, std::int64_t K) {
  for (const auto* lists : {&answer.recalled_births, &answer.seen_births})
    for (const std::vector<std::int64_t>& births : *lists)
      if (!births.empty()) return memory::chunk_of(births.front(), K);
  return std::nullopt;
}

std::optional<AttemptChoice> attempt_choice(const Engine& engine) {
  if (!engine.has_memory() || !engine.has_tokenizer()) return std::nullopt;
  const RecallPolicy& policy = engine.recall_policy();
  if (policy.no_answer.empty() || (policy.lean == 0 && policy.lag == 0)) return std::nullopt;
  return AttemptChoice(engine.tokenizer(), policy);
}

void check(const GenerateOptions& options) {
  check(options.sampling);
  if (options.max_tokens < 0)
    fail(ErrorCode::invalid_argument, "max tokens: expected 0 or more, got {}", options.max_tokens);
}

const GenerateOptions& checked(const GenerateOptions& options) {
  check(options);
  return options;
}

}  // namespace

Answering::Answering(Session& session, const GenerateOptions& options, Place place, const TurnTaken* told)
    : session_(session),
      engine_(session.engine()),
      options_(checked(options)),
      told_(told),
      place_(place),
      already_read_(session.rows_.size()),
      waiting_(session.told_in_window(place.scouts_begin)),
      choice_(attempt_choice(engine_)),
      reading_(engine_, session.memory_, session.rows_, options, !waiting_.empty() && !told),
      next_(static_cast<std::size_t>(engine_.weights().config.vocab)),
      keep_logits_([this](std::int64_t, std::span<const float> logits) {
        std::copy(logits.begin(), logits.end(), next_.begin());
      }) {}

std::vector<io::TokenId> Answering::unread_tokens() const {
  std::vector<io::TokenId> ids;
  for (std::int64_t i = already_read_; i < session_.window_size(); ++i)
    ids.push_back(session_.window_[static_cast<std::size_t>(i)].id);
  return ids;
}

Prompt Answering::prompt() const {
  return {unread_, place_.scouts_begin - already_read_, place_.scouts_end - already_read_};
}

Steps<Answer> Answering::run() {
  const bool rereads = options_.reread > 0 || (told_ && !told_->reread.empty());
  auto began = Clock::now();
  unread_ = unread_tokens();
  if (rereads) co_await put_reread();
  answer_.prompt_tokens = std::ssize(unread_);
  const std::int64_t expected = told_ ? std::ssize(told_->answer_ids) : options_.max_tokens;
  const std::int64_t asked = session_.window_size();
  for (;; began = Clock::now()) {
    const std::int64_t room = std::min(expected, engine_.window_tokens());
    co_await reading_.prefill(prompt(), room, answer_.prompt_tokens - 1, keep_logits_);
    note_read();
    const auto decoding = Clock::now();
    answer_.prefill_seconds += std::chrono::duration<double>(decoding - began).count();
    const bool answered = co_await attempt();
    answer_.decode_seconds += seconds_since(decoding);
    if (answered) break;
    pass_over(chunk_seen(answer_, session_.memory_.layout().K));
    session_.window_.erase(session_.window_.begin() + asked, session_.window_.end());
  }
  answer_.recall = reading_.policy().rule;
  const auto among = [](const std::vector<std::int64_t>& chunks, std::int64_t chunk) {
    return std::find(chunks.begin(), chunks.end(), chunk) != chunks.end();
  };
  for (WhyChunk& chunk : answer_.why) {
    chunk.reread = among(answer_.reread, chunk.chunk);
    chunk.passed = among(answer_.passed, chunk.chunk);
  }
  session_.drop_reread();
  co_return std::move(answer_);
}

// The question alone asks what to recall; what is read again must not ask for itself.
Steps<> Answering::put_reread() {
  co_await reading_.plan(prompt());
  const bool as_told = told_ && !told_->reread.empty();
  const std::vector<std::int64_t> best =
      as_told ? std::vector<std::int64_t>(told_->reread.begin(), told_->reread.end()) : reading_.ranking();
  answer_.reread =
      session_.insert_reread(place_.scouts_begin, best, as_told ? std::ssize(best) : options_.reread,
                             as_told ? 0 : options_.max_tokens);
  place_.scouts_begin += session_.reread_.count;
  place_.scouts_end += session_.reread_.count;
  unread_ = unread_tokens();
}

void Answering::note_read() {
  answer_.recalled_births = reading_.recalled_births();
  answer_.seen_births = reading_.seen_births();
  if (options_.why) answer_.why = reading_.why(session_.record_);
}

Steps<bool> Answering::attempt() {
  const bool window_alone = !chunk_seen(answer_, session_.memory_.layout().K) && !answer_.seen_births.empty();
  bool answered = true;
  if (told_) {
    co_await take_tokens();
  } else if (choice_ && reading_.behind() && !choice_->settle(next_, *reading_.behind()) &&
             reading_.has_next()) {
    answered = false;
  } else {
    // What waits is text: an answer that it gives must stand in it.
    std::string quotes;
    if (window_alone)
      for (const Span& span : waiting_) quotes += session_.record_.text(span);
    answered = co_await generate_tokens(quotes);
  }
  if (answered && window_alone) answer_.waiting = waiting_;
  co_return answered;
}

// Chunks are tried one after another, and this one says nothing: as if it had not been read.
void Answering::pass_over(std::optional<std::int64_t> chunk) {
  if (chunk) answer_.passed.push_back(*chunk);
  reading_.next();
  session_.rows_.truncate(already_read_);
  answer_.tokens.clear();
  answer_.chances.clear();
  answer_.read_tokens = 0;
}

Steps<bool> Answering::generate_tokens(std::string quotes) {
  Sampler sampler(options_.sampling, engine_.weights().config.vocab);
  // Without a tokenizer a model speaks in ids alone.
  AnswerText text(engine_.has_tokenizer() ? &engine_.tokenizer() : nullptr, options_,
                  reading_.has_next() ? engine_.recall_policy().no_answer : "", quotes);
  const std::unique_ptr<Constraint> constraint = options_.constraint ? options_.constraint() : nullptr;
  // Then logits need not come out of the pass.
  const bool best_alone = options_.sampling.takes_the_best() && !constraint && !options_.chances;
  std::vector<io::TokenId> recent = unread_;
  const auto expected = static_cast<std::size_t>(std::min<std::int64_t>(options_.max_tokens, 1 << 16));
  answer_.tokens.reserve(expected);
  recent.reserve(recent.size() + expected);
  session_.window_.reserve(session_.window_.size() + expected);
  WindowToken token = first_token();
  answer_.reason = StopReason::max_tokens;
  for (std::int64_t n = 0; n < options_.max_tokens; ++n) {
    if (options_.cancel.reached()) {
      if (n == 0) fail(ErrorCode::cancelled, "stopped on request");
      answer_.reason = StopReason::cancelled;
      break;
    }
    if (constraint) apply(*constraint, engine_, next_);
    const std::span<const io::TokenId> said = std::span(recent).last(std::min(recent.size(), kPenaltyTokens));
    token.id = n > 0 && best_alone
                   ? best_
                   : sampler.pick(next_, {said, std::span(answer_.tokens)}, static_cast<std::uint32_t>(n),
                                  static_cast<std::uint32_t>(session_.turns_));
    if (engine_.is_end(token.id)) {
      answer_.reason = StopReason::end_of_text;
      break;
    }
    recent.push_back(token.id);
    if (constraint) constraint->take(engine_.tokenizer().token_bytes(token.id));
    if (options_.chances) answer_.chances.push_back(chances(next_, token.id, *options_.chances));
    answer_.reason = reason_to_end(text, token.id);
    const bool spills = is_full();
    if (spills) co_await make_room();
    push_token(token);
    if (spills && !text.stands()) answer_.reason = StopReason::cancelled;  // there is no way back
    if (text.is_none() || answer_.reason != StopReason::max_tokens || n + 1 == options_.max_tokens) break;
    const bool read =
        co_await Offer{read_token(token.id, spills, best_alone ? &best_ : nullptr), OnStop::report};
    if (!read) {
      answer_.reason = StopReason::cancelled;
      break;
    }
    ++answer_.read_tokens;
  }
  const bool nothing = text.is_none() || (!quotes.empty() && text.is_empty());
  const bool none = nothing && answer_.reason != StopReason::cancelled;
  if (!none) text.stands();
  answer_.text = text.finish();
  co_return !none;
}

StopReason Answering::reason_to_end(AnswerText& text, io::TokenId id) {
  answer_.tokens.push_back(id);
  const bool ends = !text.push(id);
  if (!engine_.has_memory() && session_.window_size() == engine_.window_tokens())
    return StopReason::context_full;
  return ends ? text.reason() : StopReason::max_tokens;
}

WindowToken Answering::first_token() const {
  WindowToken token{.source = place_.source};
  const WindowToken& last = session_.window_.back();
  if (last.source == place_.source) token.index = last.index + 1;
  return token;
}

bool Answering::is_full() const {
  return engine_.has_memory() && session_.window_size() >= engine_.window_tokens();
}

// The newest token is not read yet: it stays out of what is written to make room for it.
Steps<> Answering::make_room() {
  if (session_.reread_.count > 0) {
    session_.drop_reread();  // it is in memory already
    co_return;
  }
  co_await session_.write_front(std::min(engine_.chunk_tokens(), session_.window_size()));
}

void Answering::push_token(WindowToken& token) {
  token.byte_begin = token.byte_end;
  if (engine_.has_tokenizer())
    token.byte_end += static_cast<std::int64_t>(engine_.tokenizer().token_bytes(token.id).size());
  session_.window_.push_back(token);
  ++token.index;
}

Work& Answering::read_token(io::TokenId id, bool memory_changed, io::TokenId* best) {
  if (memory_changed) reading_.memory_changed();
  return reading_.step(id, keep_logits_, best);
}

Steps<> Answering::take_tokens() {
  session_.check_ids(told_->answer_ids);
  WindowToken token = first_token();
  for (const io::TokenId id : told_->answer_ids) {
    token.id = id;
    answer_.tokens.push_back(id);
    const bool spills = is_full();
    if (spills) co_await make_room();
    push_token(token);
    if (std::ssize(answer_.tokens) > told_->answer_read) continue;
    co_await Offer{read_token(id, spills)};
    ++answer_.read_tokens;
  }
  answer_.text = told_->answer;
}

}  // namespace mplus::engine
