// The token loop of an answer: what is generated, or taken from the journal.
#include <algorithm>

#include "mplus/core/error.h"
#include "mplus/engine/answer/answering.h"
#include "mplus/engine/answer/text/quoting.h"

namespace mplus::engine {
namespace {

constexpr std::size_t kPenaltyTokens = 64;  // a repetition penalty looks this far back
// Nats that an answer out of the window may be less likely than what the model would say by itself.
constexpr double kMostForQuoting = 3;

// That end an answer, or begin with what ends it.
std::vector<io::TokenId> end_tokens(const Engine& engine, const std::vector<std::string>& stop) {
  std::vector<io::TokenId> ids;
  for (std::int64_t i = 0; i < engine.weights().config.vocab; ++i) {
    const auto id = static_cast<io::TokenId>(i);
    const std::string_view bytes = engine.tokenizer().token_bytes(id);
    if (engine.is_end(id) || std::any_of(stop.begin(), stop.end(), [&](const std::string& text) {
          return !text.empty() && bytes.starts_with(text);
        }))
      ids.push_back(id);
  }
  return ids;
}

// How one answer's tokens are chosen.
class NextToken {
 public:
  NextToken(const Engine& engine, const GenerateOptions& options, const std::vector<io::TokenId>& prompt,
            const std::string& quotes)
      : engine_(engine),
        sampler_(options.sampling, engine.weights().config.vocab),
        constraint_(options.constraint ? options.constraint() : nullptr),
        recent_(prompt) {
    const bool best = options.sampling.takes_the_best() && !constraint_;
    if (best && !quotes.empty())
      quoting_.emplace(engine.tokenizer(), quotes, end_tokens(engine, options.stop),
                       engine.recall_policy().no_answer, kMostForQuoting);
    needs_logits_ = constraint_ || quoting_ || options.chances;
    recent_.reserve(prompt.size() +
                    static_cast<std::size_t>(std::min<std::int64_t>(options.max_tokens, 1 << 16)));
  }

  bool needs_logits() const { return needs_logits_; }  // else the pass may choose

  // None: nothing that may be said is likely enough.
  std::optional<io::TokenId> pick(std::span<float> logits, std::span<const io::TokenId> said,
                                  std::uint32_t turn) {
    if (quoting_) return quoting_->next(logits);
    if (constraint_) apply(*constraint_, engine_, logits);
    return sampler_.pick(logits, said_before(said), static_cast<std::uint32_t>(said.size()), turn);
  }

  // How the pass is to choose it; valid until the next call.
  Choice choice(std::span<const io::TokenId> said, std::uint32_t turn) {
    return sampler_.choice(said_before(said), static_cast<std::uint32_t>(said.size()), turn);
  }

  void quote_no_more() { quoting_.reset(); }

  void take(io::TokenId id) {
    recent_.push_back(id);
    if (constraint_) constraint_->take(engine_.tokenizer().token_bytes(id));
  }

 private:
  Sampler::Said said_before(std::span<const io::TokenId> said) const {
    return {std::span<const io::TokenId>(recent_).last(std::min(recent_.size(), kPenaltyTokens)), said};
  }

  const Engine& engine_;
  Sampler sampler_;
  std::unique_ptr<Constraint> constraint_;
  std::optional<Quoting> quoting_;
  std::vector<io::TokenId> recent_;
  bool needs_logits_ = false;
};

}  // namespace

Steps<bool> Answering::generate_tokens(std::string quotes) {
  // Without a tokenizer a model speaks in ids alone.
  AnswerText text(engine_.has_tokenizer() ? &engine_.tokenizer() : nullptr, options_,
                  none_is_none() ? engine_.recall_policy().no_answer : "", quotes, refutes());
  NextToken next(engine_, options_, tokens_from(asked_from()), quotes);
  const auto expected = static_cast<std::size_t>(std::min<std::int64_t>(options_.max_tokens, 1 << 16));
  answer_.tokens.reserve(expected);
  session_.window_.reserve(session_.window_.size() + expected);
  WindowToken token = first_token();
  answer_.reason = StopReason::max_tokens;
  const auto turn = static_cast<std::uint32_t>(session_.turns_);
  for (std::int64_t n = 0; n < options_.max_tokens; ++n) {
    if (options_.cancel.reached()) {
      if (n == 0) fail(ErrorCode::cancelled, "stopped on request");
      answer_.reason = StopReason::cancelled;
      break;
    }
    const std::optional<io::TokenId> id =
        n > 0 && !next.needs_logits() ? chosen_.id : next.pick(next_, answer_.tokens, turn);
    if (!id) co_return false;
    token.id = *id;
    if (engine_.is_end(token.id)) {
      answer_.reason = StopReason::end_of_text;
      break;
    }
    next.take(token.id);
    if (options_.chances) answer_.chances.push_back(chances(next_, token.id, *options_.chances));
    answer_.reason = reason_to_end(text, token.id);
    const bool spills = is_full();
    if (spills) co_await make_room();
    push_token(token);
    if (spills) next.quote_no_more();  // there is no way back
    if (spills && !text.stands()) answer_.reason = StopReason::cancelled;
    if (text.is_none() || answer_.reason != StopReason::max_tokens || n + 1 == options_.max_tokens) break;
    if (!next.needs_logits()) chosen_.choice = next.choice(answer_.tokens, turn);
    const bool read = co_await Offer{read_token(token.id, spills, next.needs_logits() ? nullptr : &chosen_),
                                     OnStop::report};
    if (!read) {
      answer_.reason = StopReason::cancelled;
      break;
    }
    ++answer_.read_tokens;
  }
  if (answer_.reason != StopReason::cancelled) text.is_refuted();
  const bool nothing = text.is_none() || (!quotes.empty() && text.is_empty());
  const bool none = nothing && answer_.reason != StopReason::cancelled;
  if (!none) text.stands();
  answer_.text = text.finish();
  co_return !none;
}

StopReason Answering::reason_to_end(AnswerText& text, io::TokenId id) {
  answer_.tokens.push_back(id);
  const bool ends = !text.push(id);
  if (!session_.has_memory() && session_.window_size() == session_.window_tokens())
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
  return session_.has_memory() && session_.window_size() >= session_.window_tokens();
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

Work& Answering::read_token(io::TokenId id, bool memory_changed, model::ChosenToken* chosen) {
  if (memory_changed) reading_.memory_changed();
  return reading_.step(id, keep_logits_, chosen);
}

Steps<> Answering::take_tokens(std::span<const io::TokenId> ids, std::int64_t read) {
  session_.check_ids(ids);
  WindowToken token = first_token();
  for (const io::TokenId id : ids) {
    token.id = id;
    if (options_.chances && !replayed_) answer_.chances.push_back(chances(next_, id, *options_.chances));
    answer_.tokens.push_back(id);
    const bool spills = is_full();
    if (spills) co_await make_room();
    push_token(token);
    if (std::ssize(answer_.tokens) > read) continue;
    co_await Offer{read_token(id, spills)};
    ++answer_.read_tokens;
  }
}

// In the form that is likelier here: with a space in front or without.
Steps<> Answering::say_no_answer() {
  const io::Tokenizer& tokenizer = engine_.tokenizer();
  const std::string& words = reading_.policy().no_answer;
  std::vector<io::TokenId> ids = tokenizer.encode(words), spaced = tokenizer.encode(" " + words);
  const auto logit = [&](io::TokenId id) { return next_[static_cast<std::size_t>(id)]; };
  if (logit(spaced.front()) > logit(ids.front())) ids = std::move(spaced);
  ids.resize(std::min(ids.size(), static_cast<std::size_t>(options_.max_tokens)));
  co_await take_tokens(ids, std::ssize(ids));
  AnswerText text(&tokenizer, options_, "");
  for (const io::TokenId id : ids) text.push(id);
  answer_.text = text.finish();
  answer_.reason = StopReason::end_of_text;
}

}  // namespace mplus::engine
