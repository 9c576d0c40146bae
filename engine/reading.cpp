#include "mplus/engine/reading.h"

#include "mplus/engine/why.h"

namespace mplus::engine {

Reading::Reading(Engine& engine, const memory::Memory& memory, memory::WindowRows& rows,
                 const GenerateOptions& options)
    : engine_(&engine),
      memory_(&memory),
      rows_(&rows),
      options_(&options),
      adapter_(engine.has_memory() ? model::Adapter::read : model::Adapter::none),
      cache_(engine.weights().config.layers, engine.workspace().kv_shape()) {
  if (!memory.layout().has_long_term()) return;
  if (options.recall_strategy) {
    recall_ = options.recall_strategy();
  } else {
    const auto rule = options.recall.value_or(engine.default_recall());
    if (rule != memory::RecallRule::none) recall_ = memory::make_recall(rule, engine.vote_options());
  }
}

model::ReadItem Reading::item(std::span<const io::TokenId> tokens) {
  return {.tokens = tokens,
          .cache = &cache_,
          .window = rows_,
          .memory = engine_->has_memory() ? memory_ : nullptr,
          .recall = recall_.get(),
          .logits_from = static_cast<std::int64_t>(tokens.size()) - 1};
}

void Reading::plan(const model::ReadItem& read) {
  bool anything_to_recall = false;
  for (std::int64_t l = 0; l < memory_->layout().layers; ++l)
    anything_to_recall = anything_to_recall || memory_->long_term().size(l) > 0;
  const bool scout_for_recall = recall_ && recall_->wants_scout() && anything_to_recall;
  const bool scout_for_why = options_->why && memory_->layout().has_long_term();
  if (!scout_for_recall && !scout_for_why) return;
  const model::ScoutStates scout = model::scout_pass(engine_->workspace(), read, adapter_);
  const memory::Prior* prior = options_->prior ? &options_->prior : nullptr;
  if (scout_for_recall) recall_->plan(engine_->context(), *memory_, scout.layers, prior);
  if (scout_for_why)
    votes_ =
        memory::vote_over_everything(engine_->context(), *memory_, scout.layers, engine_->vote_options());
}

void Reading::prefill(std::span<const io::TokenId> tokens, std::int64_t scouts_begin, std::int64_t scouts_end,
                      std::int64_t expected, std::int64_t logits_from, const model::LogitsSink& sink) {
  const auto T = static_cast<std::int64_t>(tokens.size());
  const memory::Layout& layout = memory_->layout();
  const std::int64_t front = engine_->has_memory() ? 1 + 2 * layout.K0 + layout.N : 0;
  rows_->reserve(rows_->size() + T + expected);
  cache_.reserve(front + rows_->size() + T + expected);
  model::ReadItem read = item(tokens);
  read.scouts_begin = scouts_begin;
  read.scouts_end = scouts_end;
  read.logits_from = logits_from;
  plan(read);
  read.taps = options_->taps;
  model::read_pass(engine_->workspace(), {&read, 1}, adapter_, sink);
  recalled_ = cache_.recalled();
}

void Reading::step(io::TokenId token, const model::LogitsSink& sink) {
  const model::ReadItem read = item({&token, 1});
  model::read_pass(engine_->workspace(), {&read, 1}, adapter_, sink);
}

void Reading::memory_changed() {
  cache_.clear();
  if (recall_) recall_ = memory::recall_births(recalled_births());
}

std::vector<std::vector<std::int64_t>> Reading::recalled_births() const {
  std::vector<std::vector<std::int64_t>> births(recalled_.size());
  for (std::size_t l = 0; l < births.size(); ++l)
    for (const memory::RecalledRow& row : recalled_[l]) births[l].push_back(row.birth);
  return births;
}

std::vector<WhyChunk> Reading::why(const Record& record) const {
  return explain(*memory_, record, recalled_, votes_);
}

}  // namespace mplus::engine
