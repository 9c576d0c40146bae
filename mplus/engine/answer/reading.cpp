#include "mplus/engine/answer/reading.h"

#include <algorithm>
#include <set>
#include <utility>

#include "mplus/core/error.h"

namespace mplus::engine {

namespace {

// Rows a read may recall, in shares of K0. A write in the middle of an answer may move rows that were seen in
// short-term memory into the store: they are recalled from there then, beside those of before.
constexpr std::int64_t kMostRecalled = 2;

}  // namespace

Reading::Reading(Engine& engine, const memory::Memory& memory, memory::WindowRows& rows,
                 const GenerateOptions& options, bool text_waits)
    : engine_(&engine),
      memory_(&memory),
      rows_(&rows),
      options_(&options),
      cache_(engine.weights().config.layers, engine.workspace().kv_shape()) {
  policy_.rule = RecallRule::none;
  if (options.plain || !memory.layout().has_long_term()) return;
  if (options.recall_strategy) {
    policy_ = resolved_policy();
    policy_.rule = RecallRule::none;
    recall_ = options.recall_strategy();
    return;
  }
  policy_ = resolved_policy();
  if (policy_.rule == RecallRule::none) return;
  recall_ = memory::make_recall(policy_, {.layer_weights = engine.weights().vote_weights,
                                          .seed = options.recall_seed,
                                          .chunks = options.oracle_chunks,
                                          .window_first = text_waits});
}

RecallPolicy Reading::resolved_policy() const {
  RecallRequest request = options_->recall;
  if (!options_->recall_strategy) request.rule = chosen_rule();
  request.read_over = request.read_over.value_or(ReadOver::everything);
  RecallPolicy policy = resolved(engine_->recall_policy(), request);
  // What is read again stands in the window beside all of what was recalled.
  if (policy.read_over == ReadOver::attempts && options_->reread > 0) policy.read_over = ReadOver::recalled;
  return policy;
}

RecallRule Reading::chosen_rule() const {
  RecallRule rule = options_->recall.rule.value_or(engine_->recall_policy().rule);
  if (!options_->recall.rule && rule == RecallRule::consensus && options_->prior) rule = RecallRule::hybrid;
  if (rule == RecallRule::hybrid && !options_->prior) rule = RecallRule::consensus;
  if (rule == RecallRule::words && !options_->prior)
    fail(ErrorCode::invalid_argument,
         "recall by words needs the text of what was written; none is known here");
  if (rule == RecallRule::oracle && options_->oracle_chunks.empty())
    fail(ErrorCode::invalid_argument, "recall by oracle: expected the chunks to recall, found none");
  if (rule == RecallRule::vector && !engine_->weights().has_vector_pool)
    fail(
        ErrorCode::unsupported,
        "recall by vector: this model has no tensor \"vector_pool\", so it was not trained for it; recall by "
        "consensus needs none");
  return rule;
}

model::ReadItem Reading::item(std::span<const io::TokenId> tokens) {
  return {.tokens = tokens,
          .cache = &cache_,
          .window = rows_,
          .memory = engine_->has_memory() && !options_->plain ? memory_ : nullptr,
          .recall = recall_.get(),
          .logits_from = static_cast<std::int64_t>(tokens.size()) - 1};
}

bool Reading::has_rows() const {
  if (memory_->updates() > 0) return true;
  for (std::int64_t l = 0; l < memory_->layout().layers; ++l)
    if (memory_->short_term(l).n > 0 || memory_->long_term().size(l) > 0) return true;
  return false;
}

// Read in turn, a memory that has dropped nothing yet has chunks to choose from, too.
bool Reading::anything_to_recall() const {
  const bool slots = policy_.over_everything && policy_.read_over == ReadOver::attempts;
  for (std::int64_t l = 0; l < memory_->layout().layers; ++l)
    if (memory_->long_term().size(l) > 0 || (slots && memory_->short_term(l).n > 0)) return true;
  return false;
}

Steps<> Reading::plan(Prompt prompt) {
  planned_ = true;
  const bool plan_recall = recall_ && anything_to_recall();
  const bool scout_for_recall = plan_recall && recall_->wants_scout();
  const bool scout_for_why = (options_->why || options_->reread > 0) && memory_->layout().has_long_term() &&
                             !options_->plain && has_rows();
  if (!plan_recall && !scout_for_why) co_return;
  // What stands behind the question is not seen by it.
  const auto asking =
      prompt.tokens.first(static_cast<std::size_t>(std::max<std::int64_t>(1, prompt.scouts_end)));
  Scout scout{.item = item(asking), .pass = scout_for_recall || scout_for_why, .plan = {}};
  scout.item.scouts_begin = prompt.scouts_begin;
  scout.item.scouts_end = prompt.scouts_end;
  scout.item.stop = options_->cancel.flag;
  scout.plan = [=, this](kernels::Queue& queue, std::span<const memory::LayerQueries> states) {
    const memory::Prior* prior = options_->prior ? &options_->prior : nullptr;
    using Scouts = std::span<const memory::LayerQueries>;
    if (plan_recall) recall_->plan(queue, *memory_, scout_for_recall ? states : Scouts(), prior);
    if (scout_for_why)
      rank(
          queue, states,
          plan_recall && recall_->found() ? recall_->found()->scores : std::span<const memory::ScoredRows>());
  };
  Work work = std::move(scout);
  co_await Offer{work};
  if (plan_recall && speaks_for_) put_first();
}

void Reading::put_first() {
  memory::FoundChunks* found = recall_->found();
  if (!found || policy_.read_over != ReadOver::attempts || policy_.rule == RecallRule::oracle) return;
  std::vector<memory::Attempts::Attempt> attempts = attempts_by_text(found->votes, policy_, speaks_for_);
  if (!attempts.empty()) found->attempts.take(std::move(attempts));
}

// Over short- and long-term rows together, so that what is still in short-term memory shows, too.
void Reading::rank(kernels::Queue& queue, std::span<const memory::LayerQueries> scout,
                   std::span<const memory::ScoredRows> long_term) {
  memory::VoteOptions how = engine_->vote_options();
  how.keep_layers = options_->why;
  if (long_term.empty() && memory::in_two_levels(queue, *memory_, policy_.search)) {
    ranking_.votes =
        memory::vote_in_two_levels(queue, *memory_, scout, how, policy_.search,
                                   [&](const memory::Votes& votes) { return totals_of(votes).order(); });
  } else {
    ranking_.votes = memory::vote_over_everything(queue, *memory_, scout, how, long_term);
  }
  ranking_.totals = totals_of(ranking_.votes);
}

memory::Votes Reading::totals_of(memory::Votes votes) const {
  votes.layers.clear();
  const bool words_alone = policy_.rule == RecallRule::words;
  if (words_alone) {
    std::fill(votes.votes.begin(), votes.votes.end(), 0.0);
    votes.missing_variance = 0;
  }
  if (policy_.rule == RecallRule::hybrid || words_alone)
    return memory::with_prior(std::move(votes), options_->prior, words_alone ? 1 : policy_.words_weight);
  return votes;
}

// Even ones: a row's bits depend on its block only where that is short. A read that somebody looks
// into is one pass; and where rows are recalled inside the pass, all that ask are in the first.
std::vector<std::int64_t> Reading::blocks(const Prompt& prompt) const {
  const std::int64_t T = std::ssize(prompt.tokens);
  const bool chosen_before = !recall_ || recall_->wants_scout();
  const std::int64_t first = chosen_before ? 0 : prompt.scouts_end;
  const std::int64_t least = prompt.as_long ? 2 * model::kLeastAlike : 1;
  const std::int64_t most = std::max(engine_->runner().prompt_tokens(), least);
  if (options_->taps || T - first <= most) return {T};
  std::vector<std::int64_t> lengths;
  if (first > 0) lengths.push_back(first);
  const std::int64_t n = (T - first + most - 1) / most;
  for (std::int64_t i = 0; i < n; ++i) lengths.push_back((T - first) * (i + 1) / n - (T - first) * i / n);
  return lengths;
}

Steps<> Reading::prefill(Prompt prompt, std::int64_t expected, std::int64_t logits_from,
                         const TokenLogits& sink) {
  const std::int64_t T = std::ssize(prompt.tokens);
  const memory::Layout& layout = memory_->layout();
  const std::int64_t front = engine_->has_memory() ? 1 + kMostRecalled * layout.K0 + layout.N : 0;
  rows_->reserve(rows_->size() + T + expected);
  cache_.reserve(engine_->queue(), front + rows_->size() + T + expected);
  if (!planned_) co_await plan(prompt);
  const std::vector<std::int64_t> lengths = blocks(prompt);
  std::int64_t at = 0;
  for (const std::int64_t length : lengths) {
    Prefill block;
    block.item = item(prompt.tokens.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(length)));
    block.item.logits_from = logits_from - at;
    block.item.as_long = prompt.as_long;
    block.item.stop = options_->cancel.flag;
    block.item.taps = options_->taps;
    block.logits = &sink;
    block.first_token = at;
    if (at == 0) {
      block.item.scouts_begin = prompt.scouts_begin;
      block.item.scouts_end = prompt.scouts_end;
      // Rows were chosen before, for all that ask; here one token stands for them.
      if (prompt.scouts_end > length) {
        block.item.scouts_begin = 0;
        block.item.scouts_end = prompt.scouts_end > prompt.scouts_begin ? 1 : 0;
      }
    }
    Work work = block;
    co_await Offer{work};
    at += length;
  }
  note_recalled();
  prompt_rows_ = cache_.all_rows();
}

void Reading::again() {
  cache_.clear();
  prompt_rows_.clear();
}

bool Reading::back_to_prompt() {
  if (prompt_rows_.empty()) return false;
  cache_.truncate(prompt_rows_);
  return true;
}

void Reading::note_recalled() {
  recalled_ = cache_.recalled();
  ordinals_.assign(recalled_.size(), {});
  for (std::size_t l = 0; l < recalled_.size(); ++l)
    for (const memory::RecalledRow& row : recalled_[l])
      ordinals_[l].push_back(memory::ordinal_of(*memory_, static_cast<std::int64_t>(l), row.id));
  seen_.clear();
  const std::int64_t layers = memory_->layout().layers;
  for (std::int64_t l = 0; l < layers; ++l)
    if (const auto& births = cache_.seen(l)) {
      seen_.resize(static_cast<std::size_t>(layers));
      seen_[static_cast<std::size_t>(l)] = *births;
    }
}

Work& Reading::step(io::TokenId token, const TokenLogits& sink, model::ChosenToken* chosen) {
  decoding_ = token;
  auto& decode = std::get<Decode>(decode_);
  decode.item = item({&decoding_, 1});
  decode.item.chosen = chosen;
  decode.logits = &sink;
  return decode_;
}

std::vector<std::int64_t> Reading::best_chunks() const {
  const memory::FoundChunks* found = recall_ ? recall_->found() : nullptr;
  std::vector<std::int64_t> best = found ? found->votes.order() : std::vector<std::int64_t>();
  best.resize(std::min(best.size(), kBestChunks));
  return best;
}

void Reading::attempt_next(const std::vector<std::int64_t>& chunks) {
  std::vector<memory::Attempts::Attempt> list(attempted_ + 1, *attempts()->chunk());
  for (const std::int64_t chunk : chunks) list.push_back({chunk, -kAhead});
  attempts()->take(std::move(list));
}

bool Reading::next() {
  MPLUS_CHECK(has_next(), "no chunk left to try");
  if (attempts()->chunk()) ++attempted_;
  attempts()->next();
  if (!has_rows() && back_to_prompt()) {  // all of memory together is as much as the window alone
    for (std::int64_t l = 0; l < memory_->layout().layers; ++l) cache_.seen(l).reset();
    seen_.clear();
    return true;
  }
  again();
  return false;
}

std::vector<std::int64_t> Reading::found_order() const {
  const memory::FoundChunks* found = recall_ ? recall_->found() : nullptr;
  return found ? found->votes.order() : std::vector<std::int64_t>();
}

void Reading::read_together(std::span<const std::int64_t> chunks) {
  const memory::Layout& layout = memory_->layout();
  std::vector<std::vector<std::int64_t>> births(static_cast<std::size_t>(2 * layout.layers));
  for (std::int64_t l = 0; l < layout.layers; ++l) {
    auto& stored = births[static_cast<std::size_t>(l)];
    auto& recent = births[static_cast<std::size_t>(layout.layers + l)];
    const memory::RowsView slots = memory_->short_term(l);
    const std::set<std::int64_t> held(slots.birth, slots.birth + slots.n);
    for (const std::int64_t chunk : chunks)
      for (std::int64_t birth = chunk * layout.K; birth < (chunk + 1) * layout.K; ++birth)
        (held.contains(birth) ? recent : stored).push_back(birth);
  }
  recall_ = memory::recall_births(std::move(births));
  again();
}

void Reading::memory_changed() {
  again();
  if (!recall_) return;
  if (seen_.empty()) {
    recall_ = memory::recall_ordinals(ordinals_);
  } else {  // of what was seen of short-term memory, some may be in the store by now
    std::vector<std::vector<std::int64_t>> births = recalled_births();
    births.insert(births.end(), seen_.begin(), seen_.end());
    recall_ = memory::recall_births(std::move(births));
  }
}

std::vector<std::vector<std::int64_t>> Reading::recalled_births() const {
  std::vector<std::vector<std::int64_t>> births(recalled_.size());
  for (std::size_t l = 0; l < births.size(); ++l)
    for (const memory::RecalledRow& row : recalled_[l]) births[l].push_back(row.birth);
  return births;
}

std::vector<WhyChunk> Reading::why(const Record& record) const {
  return explain(*memory_, record, recalled_, ranking_, options_->prior);
}

}  // namespace mplus::engine
