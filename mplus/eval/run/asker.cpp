#include "mplus/eval/run/asker.h"

#include <algorithm>

#include "mplus/core/clock.h"
#include "mplus/core/error.h"
#include "mplus/engine/replay.h"
#include "mplus/io/text/hash.h"
#include "mplus/io/text/question_prompt.h"

namespace mplus::eval {
namespace {

constexpr std::int64_t kObservers = 32;  // SnapKV: the last queries that say what to keep

void append(std::vector<io::TokenId>& to, const std::vector<io::TokenId>& ids) {
  to.insert(to.end(), ids.begin(), ids.end());
}

// Finding is judged where the delta's own rule is asked, and where words take part.
bool wants_rank(const Column& column) {
  return column.name == "mplus" || column.name == "words-recall" || column.name == "hybrid";
}

std::vector<io::TokenId> joined(const std::vector<std::vector<io::TokenId>>& pieces) {
  std::vector<io::TokenId> ids;
  for (const auto& piece : pieces) append(ids, piece);
  return ids;
}

}  // namespace

Asker::Asker(engine::Engine& engine, engine::Engine* base, std::int64_t max_tokens,
             std::optional<EvidenceRule> evidence, std::optional<TalkRule> talk)
    : engine_(engine), base_(base), max_tokens_(max_tokens), evidence_(evidence), talk_(talk) {}

std::string Asker::prompt(const std::string& question) const {
  const std::string form = engine_.has_memory() ? engine_.weights().memory->prompt : "";
  return io::question_prompt(form.empty() ? io::kQuestionPrompt : form, question);
}

std::string Asker::stop() const {
  const std::string stop = engine_.has_memory() ? engine_.weights().memory->stop : "";
  return stop.empty() ? "\n" : stop;
}

Asker::TurnIds Asker::turn(const std::string& question) const {
  MPLUS_CHECK(engine_.chat_template(), "a turn without a chat template");  // tasks refuse it
  const io::ChatTemplate& chat = *engine_.chat_template();
  io::ChatTemplate::MessageIds part = chat.message(io::Role::user, question);
  append(part.ids, chat.open_assistant());
  return {std::move(part.ids), part.text_begin, part.text_end};
}

void Asker::check_length(const Question& question, Form form) const {
  const auto tokens = static_cast<std::int64_t>(prompt_ids(question.question, false, form).size());
  const std::int64_t W = engine_.window_tokens();
  if (tokens + max_tokens_ > W)
    fail(ErrorCode::out_of_capacity,
         "question {} (line {}): {} tokens and an answer of {}; the model's window is {}", question.id,
         question.line, tokens, max_tokens_, W);
}

std::vector<io::TokenId> Asker::prompt_ids(const std::string& question, bool behind_text, Form form) const {
  if (form == Form::turn) return turn(question).ids;
  return engine_.tokenizer().encode(fmt::format("{}{}", behind_text ? "\n" : "", prompt(question)));
}

void Asker::begin_scene(Scene& scene) {
  scene_ = &scene;
  // What was written is in the index before anybody asks, as in a session of the store.
  if (scene.session && scene.text) scene.text->words->follow(scene.session->record());
  base_text_ = BaseText::none;
}

Asked Asker::ask(const Column& column, const std::string& question, std::int64_t passage,
                 const std::string& passage_text, Form form) {
  if (column.base_model()) return ask_base(column, question, form);
  if (column.sees == Sees::memory) return ask_memory(column, question, passage, form);
  if (!delta_reader_) delta_reader_.emplace(engine_);
  if (column.sees == Sees::question) return ask_plain(*delta_reader_, {}, question, form);
  if (column.sees == Sees::passage)
    return ask_plain(*delta_reader_, {engine_.tokenizer().encode(passage_text)}, question, form);
  // As many passages as the window holds, the best nearest to the question.
  const auto start = Clock::now();
  const std::int64_t C = engine_.chunk_tokens();
  MPLUS_CHECK(C > 0, "a model without a memory has no passages");  // tasks refuse it
  const auto most = static_cast<std::size_t>(std::max<std::int64_t>(1, engine_.window_tokens() / C));
  std::vector<std::size_t> best = scene_->text->index.best(question, most);
  std::reverse(best.begin(), best.end());
  std::vector<std::vector<io::TokenId>> text;
  text.reserve(best.size());
  for (std::size_t chunk : best) text.push_back(scene_->text->ids[chunk]);
  const double searching = seconds_since(start);
  Asked asked = ask_plain(*delta_reader_, text, question, form);
  asked.seconds += searching;
  asked.first_seconds += searching;
  return asked;
}

Asked Asker::ask_plain(ContextReader& reader, const std::vector<std::vector<io::TokenId>>& text,
                       const std::string& question, Form form) {
  const auto start = Clock::now();
  reader.clear();
  std::vector<io::TokenId> ids = joined(text);
  const bool behind_text = !ids.empty();
  append(ids, prompt_ids(question, behind_text, form));
  Asked asked;
  if (reader.size() + static_cast<std::int64_t>(ids.size()) + max_tokens_ > reader.capacity()) {
    asked.applicable = false;
    return asked;
  }
  const double before = seconds_since(start);
  const ReadAnswer answer = reader.answer(ids, max_tokens_, stop());
  asked.output = answer.text;
  asked.seconds = seconds_since(start);
  asked.first_seconds = before + answer.first_seconds;
  return asked;
}

// The text in front of a question, read once for all questions of a scene.
bool Asker::read_base_text(const Column& column, std::int64_t after) {
  MPLUS_CHECK(base_, "column {} without a base model", column.name);
  if (!base_reader_) base_reader_.emplace(*base_);
  const BaseText wanted = column.sees == Sees::window ? BaseText::window : BaseText::full;
  if (wanted == BaseText::full && scene_->text->tokens + after > base_reader_->capacity()) return false;
  if (base_text_ == wanted) return true;
  base_reader_->clear();
  std::vector<io::TokenId> ids = joined(scene_->text->ids);
  const auto most =
      static_cast<std::size_t>(std::min(engine_.window_tokens(), base_reader_->capacity() - after - 64));
  if (wanted == BaseText::window && ids.size() > most)
    ids.erase(ids.begin(), ids.end() - static_cast<std::ptrdiff_t>(most));
  base_reader_->read(ids);
  base_text_ = wanted;
  return true;
}

Asked Asker::ask_base(const Column& column, const std::string& question, Form form) {
  const std::vector<io::TokenId> prompt = prompt_ids(question, scene_->text->tokens > 0, form);
  Asked asked;
  asked.applicable = read_base_text(column, static_cast<std::int64_t>(prompt.size()) + max_tokens_ + 1);
  if (!asked.applicable) return asked;
  const memory::Layout& layout = engine_.layout();
  const ReadAnswer answer =
      column.sees == Sees::snapkv
          ? base_reader_->answer_compressed(prompt, max_tokens_, stop(), layout.N + layout.K0, kObservers)
          : base_reader_->answer(prompt, max_tokens_, stop());
  asked.output = answer.text;
  asked.seconds = answer.seconds;
  asked.first_seconds = answer.first_seconds;
  return asked;
}

RecallRule Asker::rule(const Column& column) const {
  if (column.recall.empty()) return engine_.weights().memory->recall.rule;
  const auto rule = recall_rule_from_name(column.recall);
  MPLUS_CHECK(rule, "recall rule {}", column.recall);
  return *rule;
}

memory::Prior Asker::prior(const std::string& question) const {
  scene_->text->words->follow(scene_->session->record());
  return [scores = scene_->text->words->query(question)](std::int64_t chunk) {
    const auto at = scores.find(chunk);
    return at == scores.end() ? 0.0 : at->second;
  };
}

engine::GenerateOptions Asker::read_options(const Column& column, const std::string& words,
                                            ReadOver read_over, Observation& seen) const {
  const RecallRule chosen = rule(column);
  engine::GenerateOptions options;
  options.max_tokens = max_tokens_;
  options.stop = {stop()};
  if (chosen == RecallRule::words || chosen == RecallRule::hybrid) options.prior = prior(words);
  if (options.prior) options.words = [this](std::string_view text) { return prior(std::string(text)); };
  options.recall.rule = chosen;
  options.recall.read_over = read_over;
  options.recall.hops = column.hops > 0 ? column.hops : engine_.recall_policy().hops;
  options.recall.evidence = evidence_.value_or(engine_.recall_policy().evidence);
  options.recall.talk = talk_.value_or(engine_.recall_policy().talk);
  if (chosen == RecallRule::oracle) {  // what is given is read
    options.recall.evidence = EvidenceRule::none;
    options.recall.talk = TalkRule::memory;
  }
  const RecallPolicy policy = resolved(engine_.recall_policy(), options.recall);
  const memory::RecallInput input{.layer_weights = engine_.weights().vote_weights,
                                  .seed = io::xxh3(std::as_bytes(std::span(words))),
                                  .chunks = seen.gold};
  options.recall_strategy = [policy, input, vote = engine_.vote_options(), &seen] {
    return observe(memory::make_recall(policy, input), seen, vote, policy.over_everything);
  };
  return options;
}

// A question of a delta with a prompt of its own is asked as people ask it, checks of the answer included.
engine::Answer Asker::answer_of(const std::string& question, Form form,
                                const engine::GenerateOptions& options) const {
  if (form == Form::turn) return scene_->session->fork().say(question, options);
  if (engine_.weights().memory->prompt.empty()) return scene_->session->generate(prompt(question), options);
  return scene_->session->ask(question, options);
}

Asked Asker::ask_memory(const Column& column, const std::string& question, std::int64_t passage, Form form) {
  Observation seen;
  if (passage >= 0) seen.gold = scene_->text->updates.at(static_cast<std::size_t>(passage));
  if (passage < 0 && column.recall == "oracle") {  // nothing is right
    Asked none;
    none.applicable = false;
    return none;
  }
  seen.want_rank = wants_rank(column);
  Asked asked;
  const auto start = Clock::now();
  engine::GenerateOptions options = read_options(column, question, engine_.recall_policy().read_over, seen);
  if (column.reread > 0) {  // the session ranks by the rule itself, so it must know it
    options.recall_strategy = nullptr;
    options.reread = column.reread;
  }
  options.on_text = [&](std::string_view) {
    if (asked.first_seconds == 0) asked.first_seconds = seconds_since(start);
    return true;
  };
  const engine::Answer answer = answer_of(question, form, options);
  asked.output = answer.text;
  asked.seconds = seconds_since(start);
  if (asked.first_seconds == 0) asked.first_seconds = asked.seconds;
  if (column.reread > 0) seen.count(answer.recalled_births, engine_.layout().K);
  for (const engine::Refuted& refuted : answer.refuted) asked.refuted.push_back(refuted.said);
  if (!seen.gold.empty() && engine_.layout().has_long_term()) {
    asked.recalled = seen.recalled_mean();
    asked.recalled_layers = seen.recalled;
  }
  if (seen.rank > 0) asked.rank = seen.rank;
  return asked;
}

Asked Asker::go_on(const Column& column, const std::string& given_text, std::span<const io::TokenId> given,
                   std::span<const io::TokenId> then, std::int64_t passage, const std::string& passage_text) {
  const auto start = Clock::now();
  Asked asked;
  asked.applicable = column.fixed() || (column.sees == Sees::memory && column.reread == 0);
  if (!asked.applicable) return asked;
  std::vector<io::TokenId> ids;
  if (column.sees == Sees::passage) {
    ids = engine_.tokenizer().encode(passage_text);
    append(ids, engine_.tokenizer().encode("\n"));
  }
  ids.insert(ids.end(), given.begin(), given.end());
  const std::size_t asked_from = ids.size();
  ids.insert(ids.end(), then.begin(), then.end());
  std::vector<double> nll;  // of tokens 1 …
  if (column.sees == Sees::memory) {
    Observation seen;
    if (passage >= 0) seen.gold = scene_->text->updates.at(static_cast<std::size_t>(passage));
    seen.want_rank = wants_rank(column);
    nll = scene_->session
              ->score(ids, {.scouts_end = std::ssize(given),
                            .read = read_options(column, given_text, ReadOver::everything, seen)})
              .nll;
    if (!seen.gold.empty() && engine_.layout().has_long_term()) {
      asked.recalled = seen.recalled_mean();
      asked.recalled_layers = seen.recalled;
    }
    if (seen.rank > 0) asked.rank = seen.rank;
  } else {
    if (!delta_reader_) delta_reader_.emplace(engine_);
    delta_reader_->clear();
    nll = delta_reader_->score(ids);
  }
  double sum = 0;
  for (std::size_t i = asked_from - 1; i < nll.size(); ++i) sum += nll[i];
  asked.nll = sum / static_cast<double>(then.size());
  asked.seconds = seconds_since(start);
  return asked;
}

Asked Asker::choose(const Column& column, const std::string& question,
                    const std::vector<std::string>& options) {
  const auto start = Clock::now();
  Asked asked;
  const std::vector<io::TokenId> prompt =
      prompt_ids(question, column.base_model() && scene_->text->tokens > 0);
  if (!delta_reader_) delta_reader_.emplace(engine_);
  delta_reader_->clear();
  std::int64_t longest = 0;
  for (const std::string& option : options)
    longest = std::max(
        longest, static_cast<std::int64_t>(engine_.tokenizer().encode(fmt::format(" {}", option)).size()));
  asked.applicable = column.base_model()
                         ? column.sees != Sees::snapkv &&
                               read_base_text(column, static_cast<std::int64_t>(prompt.size()) + longest + 1)
                         : column.sees == Sees::question || (column.sees == Sees::memory &&
                                                             column.reread == 0 && column.recall != "oracle");
  if (!asked.applicable) return asked;
  for (const std::string& option : options) {
    std::vector<io::TokenId> ids = prompt;
    append(ids, engine_.tokenizer().encode(fmt::format(" {}", option)));
    std::vector<double> nll;  // of tokens 1 …
    if (column.sees == Sees::memory) {
      Observation seen;
      // What is scored is read once.
      ReadOver over = engine_.recall_policy().read_over;
      if (over == ReadOver::attempts) over = ReadOver::recalled;
      nll = scene_->session
                ->score(ids, {.scouts_end = static_cast<std::int64_t>(prompt.size()),
                              .read = read_options(column, question, over, seen)})
                .nll;
    } else {
      nll = (column.base_model() ? *base_reader_ : *delta_reader_).score(ids);
    }
    double sum = 0;
    for (std::size_t i = prompt.size() - 1; i < nll.size(); ++i) sum += nll[i];
    asked.option_nll.push_back(sum / static_cast<double>(ids.size() - prompt.size()));
  }
  asked.seconds = seconds_since(start);
  return asked;
}

namespace {

// Beside the memory: the text, and the updates it became.
void note(WrittenText& text, const engine::Session& session, std::int64_t updates_before,
          const std::string& chunk) {
  std::vector<std::int64_t> updates;
  for (std::int64_t u = updates_before; u < session.memory().updates(); ++u) updates.push_back(u);
  text.chunks.push_back(chunk);
  text.ids.push_back(session.engine().tokenizer().encode(chunk));
  text.tokens += static_cast<std::int64_t>(text.ids.back().size());
  text.updates.push_back(std::move(updates));
  text.index.add(chunk);
}

void flush_all(engine::Session& session, std::string_view source) {
  if (!session.window().empty()) session.flush();  // shorter than K tokens
  if (!session.window().empty())
    fail(ErrorCode::invalid_argument, "{}: a chunk of {} tokens is too short to be written", source,
         session.window().size());
}

}  // namespace

void write_chunk(engine::Session& session, WrittenText& text, const std::string& chunk,
                 const std::string& source) {
  const std::int64_t before = session.memory().updates();
  session.remember(chunk, source);
  flush_all(session, source);
  note(text, session, before, chunk);
}

void write_chunks(std::span<const ChunkToWrite> chunks) {
  std::vector<engine::Session*> sessions;
  std::vector<engine::Document> documents;
  for (const ChunkToWrite& c : chunks) {
    const auto n = static_cast<std::int64_t>(c.session->engine().tokenizer().encode(*c.chunk).size());
    if (n < c.session->engine().layout().K || n > c.session->engine().chunk_tokens()) continue;
    sessions.push_back(c.session);
    documents.push_back({.source = *c.source, .text = *c.chunk});
  }
  if (sessions.size() < 2 || sessions.size() < chunks.size()) {
    for (const ChunkToWrite& c : chunks) write_chunk(*c.session, *c.text, *c.chunk, *c.source);
    return;
  }
  engine::Session::remember_together(sessions, documents);
  for (const ChunkToWrite& c : chunks) note(*c.text, *c.session, c.session->memory().updates() - 1, *c.chunk);
}

void write_conversation(engine::Session& session, WrittenText& text, const std::vector<Turn>& turns) {
  const std::int64_t before = session.memory().updates();
  std::string plain;
  for (std::size_t t = 0; t < turns.size(); ++t) {
    if (turns[t].role != io::Role::user)
      fail(ErrorCode::corrupt, "turn {} of a conversation: expected the user's, found another's", t + 1);
    const bool answered = t + 1 < turns.size() && turns[t + 1].role == io::Role::assistant;
    const std::string answer = answered ? turns[t + 1].content : "";
    const std::vector<io::TokenId> ids = session.engine().tokenizer().encode(answer);
    engine::replay(session,
                   engine::TurnTaken{.message = turns[t].content,
                                     .answer = answer,
                                     .answer_ids = ids,
                                     .answer_read = static_cast<std::int64_t>(ids.size()),
                                     .recall = "none"},
                   false);
    plain += fmt::format("User: {}\nAssistant: {}\n", turns[t].content, answer);
    t += answered ? 1 : 0;
  }
  flush_all(session, "conversation");
  note(text, session, before, plain);
}

}  // namespace mplus::eval
