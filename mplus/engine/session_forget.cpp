// Forgetting: what some sources left in memory goes, and text of others that was written together with theirs
// is written again.
#include <algorithm>
#include <set>

#include "mplus/core/error.h"
#include "mplus/engine/session.h"
#include "mplus/io/text/names.h"

namespace mplus::engine {
namespace {

// The tokens that were written, found again from the texts.
class WrittenTokens {
 public:
  WrittenTokens(const Engine& engine, const Record& record, const IdsOfSource& ids)
      : engine_(engine), record_(record), ids_(ids) {}

  std::vector<io::TokenId> of(std::span<const Span> spans) {
    std::vector<io::TokenId> tokens;
    for (const Span& span : spans) {
      const std::vector<io::TokenId> part = of(span);
      tokens.insert(tokens.end(), part.begin(), part.end());
    }
    return tokens;
  }

 private:
  std::vector<io::TokenId> of(const Span& span) {
    auto [at, is_new] = whole_.try_emplace(span.source);
    if (is_new) at->second = whole(span.source);
    const std::vector<io::TokenId>& ids = at->second;
    if (ids.empty()) return of_answer(span);
    if (span.token_end > std::ssize(ids))
      fail(ErrorCode::corrupt, "source {} ({}): tokens {} to {} were written, but it has {}", span.source,
           io::shown(record_.source(span.source).name), span.token_begin, span.token_end, ids.size());
    return {ids.begin() + span.token_begin, ids.begin() + span.token_end};
  }

  // All tokens of a source, as Session counts them; none of an answer whose ids are not known.
  std::vector<io::TokenId> whole(std::int64_t index) const {
    const Source& source = record_.source(index);
    std::vector<io::TokenId> known = ids_ ? ids_(index) : std::vector<io::TokenId>();
    if (source.speaker == Speaker::document) {
      if (!known.empty()) return known;
      if (source.text.empty())
        fail(ErrorCode::invalid_argument,
             "source {} ({}) was written together with what is to be forgotten, and cannot be written again: "
             "it was given as token ids, which are not kept here; forget it, too",
             index, io::shown(source.name));
      return engine_.tokenizer().encode(source.text);
    }
    const io::ChatTemplate& chat = chat_template();
    if (source.speaker == Speaker::user) return chat.message(io::Role::user, source.text).ids;
    if (source.speaker == Speaker::system)
      return source.text.empty() ? chat.default_system() : chat.message(io::Role::system, source.text).ids;
    if (known.empty()) return {};
    std::vector<io::TokenId> ids = chat.open_assistant();
    ids.insert(ids.end(), known.begin(), known.end());
    const std::vector<io::TokenId> close = chat.close_assistant();
    ids.insert(ids.end(), close.begin(), close.end());
    return ids;
  }

  // From the text alone, whose tokens may be others than those the model gave.
  std::vector<io::TokenId> of_answer(const Span& span) const {
    const std::vector<io::TokenId> open = chat_template().open_assistant();
    const std::vector<io::TokenId> close = chat_template().close_assistant();
    std::vector<io::TokenId> ids(open.begin() + std::min(span.token_begin, std::ssize(open)),
                                 open.begin() + std::min(span.token_end, std::ssize(open)));
    const std::vector<io::TokenId> text = engine_.tokenizer().encode(record_.text(span));
    ids.insert(ids.end(), text.begin(), text.end());
    const std::int64_t missing = span.token_end - span.token_begin - std::ssize(ids);
    ids.insert(ids.end(), close.begin(),
               close.begin() + std::clamp<std::int64_t>(missing, 0, std::ssize(close)));
    return ids;
  }

  const io::ChatTemplate& chat_template() const {
    if (!engine_.chat_template())
      fail(ErrorCode::unsupported,
           "a conversation was written together with what is to be forgotten, and cannot be written again: "
           "this model's files name no chat template");
    return *engine_.chat_template();
  }

  const Engine& engine_;
  const Record& record_;
  const IdsOfSource& ids_;
  std::map<std::int64_t, std::vector<io::TokenId>> whole_;  // by source
};

}  // namespace

// An update of less than K tokens makes K rows all the same: the others are those of the tail, once more. So
// short updates are written again as well until K tokens have come since text that goes.
Session::TextLeft Session::text_left(const std::vector<std::int64_t>& sources) const {
  for (std::int64_t source : sources)
    if (source < 0 || source >= record_.sources())
      fail(ErrorCode::not_found, "source {}: there are {}", source, record_.sources());
  const auto goes = [&](const Span& span) {
    return std::find(sources.begin(), sources.end(), span.source) != sources.end();
  };
  const std::int64_t K = memory_.layout().K;
  std::int64_t since = K;  // tokens written since text that goes
  TextLeft left;
  for (std::int64_t u = 0; u < record_.updates(); ++u) {
    std::vector<Span> spans = record_.spans(u);
    for (const Span& span : spans) since = goes(span) ? 0 : since + span.token_end - span.token_begin;
    const bool loses_text = std::erase_if(spans, goes) > 0;
    if (loses_text || (since < K && !spans.empty())) left.emplace(u, std::move(spans));
  }
  return left;
}

ForgetResult Session::forget_plan(const std::vector<std::int64_t>& sources, const TextLeft& left) const {
  ForgetResult plan{.updates = std::ssize(left)};
  std::set<std::int64_t> chunks;
  for (const auto& [update, spans] : left) {
    chunks.insert(update);
    if (!spans.empty()) plan.written_again.emplace(update, spans);
  }
  const auto counted = memory_.count(chunks);
  plan.rows = counted.rows;
  plan.segments = counted.segments;
  plan.window_tokens = std::count_if(window_.begin(), window_.end(), [&](const WindowToken& token) {
    return std::find(sources.begin(), sources.end(), token.source) != sources.end();
  });
  return plan;
}

ForgetResult Session::forget_plan(const std::vector<std::int64_t>& sources) const {
  return forget_plan(sources, text_left(sources));
}

// As a fresh session would write it: nothing but this text is in the rows.
Steps<memory::Rewriting> Session::write_again(const TextLeft& left, const IdsOfSource& ids) const {
  std::set<std::int64_t> chunks;
  for (const auto& [update, spans] : left) chunks.insert(update);
  memory::Rewriting rewriting(memory_.layout(), chunks);
  Session fresh(*engine_);
  WrittenTokens tokens(*engine_, record_, ids);
  for (const auto& [update, spans] : left) {
    if (spans.empty()) continue;
    const std::vector<io::TokenId> chunk = tokens.of(spans);
    Work work = Write{.chunk = chunk, .memory = &fresh.memory_};
    co_await Offer{work};
    rewriting.put(update, std::get<Write>(work).written.layers);
  }
  co_return rewriting;
}

bool Session::is_as_written_again(std::int64_t update, const IdsOfSource& ids) const {
  const TextLeft left{{update, record_.spans(update)}};
  StepsUnderWay<memory::Rewriting> steps(write_again(left, ids));
  run_alone(engine_->runner(), steps);
  return memory_.equals(steps.result());
}

ForgetResult Session::forget(const std::vector<std::int64_t>& sources, const IdsOfSource& ids) {
  StepsUnderWay<ForgetResult> steps(forget_steps(sources, ids));
  run_alone(engine_->runner(), steps);
  return steps.result();
}

// Everything is written before anything changes.
Steps<ForgetResult> Session::forget_steps(const std::vector<std::int64_t>& sources, const IdsOfSource& ids) {
  const Change change(*this);
  const TextLeft left = text_left(sources);
  ForgetResult result = forget_plan(sources, left);
  if (!left.empty()) memory_.rewrite(co_await write_again(left, ids));
  for (const auto& [update, spans] : left) record_.set_update(update, spans);
  talk_rows_ = nullptr;
  for (std::int64_t i = window_size(); i-- > 0;) {
    const std::int64_t source = window_[static_cast<std::size_t>(i)].source;
    if (std::find(sources.begin(), sources.end(), source) == sources.end()) continue;
    window_.erase(window_.begin() + i);
    if (i < rows_.size()) rows_.erase(i, 1);
  }
  for (std::int64_t source : sources)
    record_.replace_source(source, {"", record_.source(source).speaker, ""});
  co_return result;
}

}  // namespace mplus::engine
