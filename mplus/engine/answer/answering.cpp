#include "mplus/engine/answer/answering.h"

#include <algorithm>
#include <utility>

#include "mplus/core/clock.h"
#include "mplus/core/error.h"
#include "mplus/engine/answer/reread.h"
#include "mplus/engine/answer/text/answer_text.h"

namespace mplus::engine {
namespace {

constexpr std::int64_t kBytesBefore = 2000;  // of a source, in front of what was read: one or two chunks

std::optional<AttemptChoice> attempt_choice(const Engine& engine) {
  if (!engine.has_memory() || !engine.has_tokenizer()) return std::nullopt;
  const RecallPolicy& policy = engine.recall_policy();
  if (policy.no_answer.empty() || (policy.lean == 0 && policy.lag == 0)) return std::nullopt;
  return AttemptChoice(engine.tokenizer(), policy);
}

// Where an answer is to be checked against what was read. A caller's own strategy is checked if that is asked
// for.
std::optional<Evidence> evidence_for(const RecallPolicy& policy, const GenerateOptions& options,
                                     std::string_view question) {
  const bool own = options.recall_strategy && !options.recall.evidence;
  if (own || (policy.rule == RecallRule::none && !options.recall_strategy)) return std::nullopt;
  if (policy.no_answer.empty() || options.constraint) return std::nullopt;
  if (policy.evidence == EvidenceRule::none || question.empty()) return std::nullopt;
  Evidence evidence(question);
  return evidence.has_names() ? std::optional(std::move(evidence)) : std::nullopt;
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

Answering::Answering(Session& session, const GenerateOptions& options, Place place, const TurnTaken* replayed)
    : session_(session),
      engine_(session.engine()),
      options_(checked(options)),
      replayed_(replayed),
      place_(place),
      already_read_(session.rows_.size()),
      waiting_(session.told_in_window(place.scouts_begin)),
      choice_(attempt_choice(engine_)),
      reading_(engine_, session.memory_, session.rows_, options, !waiting_.empty() && !replayed),
      evidence_(replayed ? std::nullopt : evidence_for(reading_.policy(), options, place.question)),
      next_(static_cast<std::size_t>(engine_.weights().config.vocab)),
      keep_logits_([this](std::int64_t, std::span<const float> logits) {
        std::copy(logits.begin(), logits.end(), next_.begin());
      }) {
  if (evidence_) reading_.prefer(speaks_for());
}

SpeaksFor Answering::speaks_for() const {
  return [this](std::int64_t chunk) { return evidence_->speaks_for(chunk_text(session_.record_, chunk)); };
}

std::vector<io::TokenId> Answering::tokens_from(std::int64_t begin) const {
  std::vector<io::TokenId> ids;
  for (std::int64_t i = begin; i < session_.window_size(); ++i)
    ids.push_back(session_.window_[static_cast<std::size_t>(i)].id);
  return ids;
}

Prompt Answering::prompt() const {
  return {unread_, place_.scouts_begin - already_read_, place_.scouts_end - already_read_,
          session_.talk_.as_long};
}

Steps<Answer> Answering::run() {
  if (replayed_ && replayed_->recall == kByBase) co_return co_await take_base_answer();
  co_await judge();
  if (talk_ != Talk::yes) {
    Answer answer = co_await answer_from_memory();
    if (!by_base_) co_return answer;
    answer_ = std::move(answer);
  }
  co_return co_await answer_by_base();
}

Steps<Answer> Answering::answer_from_memory() {
  const bool rereads = options_.reread > 0 || (replayed_ && !replayed_->reread.empty());
  auto began = Clock::now();
  unread_ = unread_tokens();
  if (rereads) co_await put_reread();
  answer_.prompt_tokens = std::ssize(unread_) + session_.talk_.kept;
  const std::int64_t expected = replayed_ ? std::ssize(replayed_->answer_ids) : options_.max_tokens;
  for (;; began = Clock::now()) {
    const std::int64_t room = std::min(expected, session_.window_tokens());
    const std::int64_t asked = session_.window_size();
    if (std::exchange(behind_prompt_, false)) {
      next_ = prompt_logits_;
    } else {
      co_await reading_.prefill(prompt(), room, std::ssize(unread_) - 1, keep_logits_);
      prompt_logits_.clear();
      if (may_pass_over()) prompt_logits_ = next_;
    }
    note_read();
    const auto decoding = Clock::now();
    answer_.prefill_seconds += std::chrono::duration<double>(decoding - began).count();
    const bool answered = co_await attempt();
    answer_.decode_seconds += seconds_since(decoding);
    if (answered) break;
    session_.window_.erase(session_.window_.begin() + asked, session_.window_.end());
    co_await pass_over(chunk_seen());
    if (by_base_) break;
  }
  if (told_anew_ && !no_answer_ && chunk_seen()) std::erase(answer_.passed, *chunk_seen());  // read again
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
  const bool as_replayed = replayed_ && !replayed_->reread.empty();
  std::vector<std::int64_t> best =
      as_replayed ? std::vector<std::int64_t>(replayed_->reread.begin(), replayed_->reread.end())
                  : reading_.ranking();
  if (evidence_) {  // what speaks for an answer before what comes first otherwise
    const std::vector<std::int64_t> first = spoken_for(best, speaks_for());
    std::erase_if(best,
                  [&](std::int64_t c) { return std::find(first.begin(), first.end(), c) != first.end(); });
    best.insert(best.begin(), first.begin(), first.end());
  }
  put_in_front(best, as_replayed ? std::ssize(best) : options_.reread, as_replayed ? 0 : options_.max_tokens);
}

void Answering::put_in_front(std::span<const std::int64_t> best, std::int64_t n, std::int64_t answer_tokens) {
  answer_.reread = session_.insert_reread(place_.scouts_begin, best, n, answer_tokens);
  place_.scouts_begin += session_.reread_.count;
  place_.scouts_end += session_.reread_.count;
  unread_ = unread_tokens();
}

void Answering::reread_instead() {
  place_.scouts_begin -= session_.reread_.count;
  place_.scouts_end -= session_.reread_.count;
  session_.drop_reread();
  std::vector<std::int64_t> best = {*std::exchange(reread_next_, std::nullopt)};
  for (const std::int64_t chunk : answer_.reread)
    if (chunk != best.front()) best.push_back(chunk);
  put_in_front(best, options_.reread, options_.max_tokens);
  reading_.again();
}

void Answering::note_read() {
  answer_.recalled_births = reading_.recalled_births();
  answer_.seen_births = reading_.seen_births();
  if (options_.why) answer_.why = reading_.why(session_.record_);
}

Steps<bool> Answering::attempt() {
  const bool window_alone = !chunk_seen() && !answer_.seen_births.empty();
  bool answered = true;
  if (replayed_) {
    co_await take_tokens(replayed_->answer_ids, replayed_->answer_read);
    answer_.text = replayed_->answer;
  } else if (say_next_) {
    co_await say_again(*say_next_);
  } else if (no_answer_) {
    co_await say_no_answer();
  } else if (choice_ && reading_.behind() && !choice_->settle(next_, *reading_.behind()) &&
             reading_.has_next()) {
    answered = false;
  } else {
    // What waits is text: an answer that it gives must stand in it.
    std::string quotes;
    if (window_alone)
      for (const Span& span : waiting_)
        if (const std::string text = session_.record_.text(span); !text.empty())
          quotes.append(text).append("\n");
    answered = co_await generate_tokens(quotes);
  }
  if (answered && window_alone) answer_.waiting = waiting_;
  co_return answered;
}

// Chunks are tried one after another, and this one says nothing: as if it had not been read. The last one
// stays, to say that there is no answer.
Steps<> Answering::pass_over(std::optional<std::int64_t> chunk) {
  if (reread_next_) {
    session_.rows_.truncate(already_read_);
    reread_instead();
  } else if ((doubted_ || !reading_.has_next()) && may_hop()) {
    session_.rows_.truncate(already_read_);
    co_await begin_hop();
  } else if (reading_.has_next()) {
    if (chunk) answer_.passed.push_back(*chunk);
    behind_prompt_ = reading_.next();
  } else if (talk_ == Talk::maybe) {
    by_base_ = true;
  } else {
    no_answer_ = true;
    behind_prompt_ = !prompt_logits_.empty() && reading_.back_to_prompt();
    if (!behind_prompt_) reading_.again();
  }
  session_.rows_.truncate(already_read_ + (behind_prompt_ ? std::ssize(unread_) : 0));
  answer_.tokens.clear();
  answer_.chances.clear();
  answer_.read_tokens = 0;
}

std::optional<std::int64_t> Answering::chunk_seen() const {
  for (const auto* lists : {&answer_.recalled_births, &answer_.seen_births})
    for (const std::vector<std::int64_t>& births : *lists)
      if (!births.empty()) return memory::chunk_of(births.front(), session_.memory_.layout().K);
  return std::nullopt;
}

std::set<std::int64_t> Answering::chunks_read() const {
  std::set<std::int64_t> chunks(answer_.reread.begin(), answer_.reread.end());
  const memory::Memory& memory = session_.memory_;
  for (const auto* lists : {&answer_.recalled_births, &answer_.seen_births})
    for (const std::vector<std::int64_t>& births : *lists)
      for (const std::int64_t birth : births) chunks.insert(memory::chunk_of(birth, memory.layout().K));
  if (!answer_.seen_births.empty()) return chunks;
  for (std::int64_t l = 0; l < memory.layout().layers; ++l) {  // all of short-term memory was seen
    const memory::RowsView slots = memory.short_term(l);
    for (std::int64_t r = 0; r < slots.n; ++r)
      chunks.insert(memory::chunk_of(slots.birth[r], memory.layout().K));
  }
  return chunks;
}

Passage Answering::passage() const {
  Passage passage;
  const auto add = [&](const Span& span) {
    const Source& source = session_.record_.source(span.source);
    passage.text.append(session_.record_.text(span)).append("\n");
    const auto begin = static_cast<std::size_t>(std::max<std::int64_t>(0, span.byte_begin - kBytesBefore));
    passage.before.append(source.name).append("\n");
    passage.before.append(source.text.substr(std::min(begin, source.text.size()),
                                             static_cast<std::size_t>(span.byte_begin) - begin));
    passage.before.append("\n");
  };
  std::for_each(waiting_.begin(), waiting_.end(), add);
  for (const std::int64_t chunk : chunks_read())
    for (const Span& span : session_.record_.spans(chunk))
      if (span.byte_begin < span.byte_end) add(span);  // not a template's tokens
  return passage;
}

// Of the best chunks the newest in which another value stands; then, if that gives no answer, this one again.
bool Answering::is_told_anew(std::string_view said) {
  if (!answer_.reread.empty()) return is_reread_told_anew(said);
  const std::optional<std::int64_t> chunk = chunk_seen();
  if (told_anew_ || !reading_.behind() || !chunk) return false;
  const std::string text = chunk_text(session_.record_, *chunk);
  std::int64_t newest = *chunk;
  for (const std::int64_t other : reading_.best_chunks())
    if (other > newest && evidence_->is_told_anew(said, text, chunk_text(session_.record_, other)))
      newest = other;
  told_anew_ = newest > *chunk;
  if (told_anew_) reading_.attempt_next({newest, *chunk});
  return told_anew_;
}

bool Answering::is_reread_told_anew(std::string_view said) {
  if (told_anew_ || replayed_) return false;
  std::vector<std::int64_t> others = reading_.ranking();
  others.resize(std::min(others.size(), kBestChunks));
  std::int64_t newest = -1;
  for (const std::int64_t chunk : answer_.reread) {
    const std::string text = chunk_text(session_.record_, chunk);
    for (const std::int64_t other : others)
      if (other > chunk && evidence_->is_told_anew(said, text, chunk_text(session_.record_, other)))
        newest = std::max(newest, other);
  }
  const auto again = std::find(answer_.reread.begin(), answer_.reread.end(), newest);
  told_anew_ = newest >= 0 && again == answer_.reread.end();
  if (told_anew_) reread_next_ = newest;
  return told_anew_;
}

AnswerText::Refutes Answering::refutes() {
  if (!evidence_ && talk_ != Talk::maybe) return nullptr;
  return [this, read = passage()](std::string_view said) {
    if (talk_ == Talk::maybe && !stands_in(said, read.text)) return true;
    if (!evidence_) return false;
    const bool against = evidence_->speaks_against(said, read);
    if (against) answer_.refuted.push_back({chunk_seen(), std::string(said), evidence_->names()});
    return against || is_told_anew(said) || doubts(said, read);
  };
}

}  // namespace mplus::engine
