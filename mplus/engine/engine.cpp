#include "mplus/engine/engine.h"

#include <algorithm>
#include <future>
#include <utility>

#include "mplus/core/error.h"
#include "mplus/engine/files/weights_id.h"
#include "mplus/model/passes/read_pass.h"
#include "mplus/model/placement.h"

namespace mplus::engine {
namespace {

RecallPolicy policy_of(const model::Weights& weights) {
  RecallPolicy policy = weights.memory ? weights.memory->recall : RecallPolicy();
  if (!weights.memory || !weights.memory->has_retriever) policy.rule = RecallRule::none;
  return policy;
}

}  // namespace

// A start waits for the files' text side, mostly the tokenizer, and for the weights: they are read beside
// each other.
Engine::Engine(const EngineOptions& options)
    : Engine(options, std::async(std::launch::async, io::read_text_side, options.files.model)) {}

Engine::Engine(const EngineOptions& options, std::future<std::optional<io::TextSide>> text)
    : options_(options),
      weights_(model::load_weights(options.files)),
      device_(model::choose_device(options.device, *weights_, options.numerics, options.weights)),
      runner_(std::make_unique<Runner>(weights_, RunnerOptions{.threads = options.threads,
                                                               .numerics = options.numerics,
                                                               .device = device_,
                                                               .rope = options.rope,
                                                               .weights = options.weights,
                                                               .write_layers = options.write_layers})),
      layout_(model::memory_layout(*weights_, options.memory)),
      recall_policy_(policy_of(*weights_)) {
  take_text_side(text.get());
}

void Engine::take_text_side(std::optional<io::TextSide> text) {
  if (!text) return;
  tokenizer_ = std::move(text->tokenizer);
  chat_template_ = std::move(text->chat);
  if (tokenizer_->size() > weights_->config.vocab)
    fail(ErrorCode::model_mismatch, "{}: the tokenizer has {} tokens, the model {}",
         options_.files.model.string(), tokenizer_->size(), weights_->config.vocab);
}

std::int64_t Engine::window_tokens() const {
  return has_memory() ? weights_->memory->W : weights_->config.context;
}

memory::VoteOptions Engine::vote_options() const {
  memory::VoteOptions options;
  options.layer_weights = weights_->vote_weights;
  options.top = recall_policy_.vote_top;
  return options;
}

const io::Tokenizer& Engine::tokenizer() const {
  if (!tokenizer_)
    fail(ErrorCode::not_found, "{}: no tokenizer.json beside the weights; text needs one, token ids do not",
         options_.files.model.string());
  return *tokenizer_;
}

bool Engine::is_end(io::TokenId id) const {
  const auto& ends = weights_->config.eos_ids;
  if (std::find(ends.begin(), ends.end(), id) != ends.end()) return true;
  if (tokenizer_ && tokenizer_->eos() == id) return true;
  if (!chat_template_) return false;
  const auto stops = chat_template_->stop_ids();
  return std::find(stops.begin(), stops.end(), id) != stops.end();
}

const memory::Memory& Engine::initial_memory() {
  std::call_once(initial_memory_once_,
                 [&] { initial_memory_ = model::initial_memory(workspace(), layout_, 0); });
  return *initial_memory_;
}

const model::AttentionCache& Engine::talk_start() {
  std::call_once(talk_start_once_, [&] {
    const std::int64_t layer = weights_->memory->talk->layer;
    model::AttentionCache& cache = talk_start_.emplace(layer, workspace().kv_shape());
    const std::vector<io::TokenId> ids = chat_template_->start_with_system();
    const model::ReadItem item{
        .tokens = ids, .cache = &cache, .logits_from = std::ssize(ids), .until_layer = layer};
    model::read_pass(workspace(), {&item, 1}, model::Adapter::none, nullptr);
  });
  return *talk_start_;
}

const memory::WindowRows& Engine::talk_start_rows() {
  std::call_once(talk_start_rows_once_, [&] {
    memory::WindowRows rows(layout_);
    const std::vector<io::TokenId> ids = chat_template_->start_with_system();
    model::AttentionCache cache(weights_->config.layers, workspace().kv_shape());
    const model::ReadItem item{
        .tokens = ids, .cache = &cache, .window = &rows, .logits_from = std::ssize(ids)};
    rows.reserve(std::ssize(ids));
    if (!ids.empty()) model::read_pass(workspace(), {&item, 1}, model::Adapter::none, nullptr);
    talk_start_rows_.emplace(std::move(rows));
  });
  return *talk_start_rows_;
}

std::string Engine::numerics_id(RowFormat long_term) const {
  std::string id =
      fmt::format("{}-{}", kernels::numerics_id(options_.numerics, device_), dtype_name(layout_.dtype));
  if (options_.weights == model::WeightForm::int8 && !device_.is_cpu()) id += "-w8";
  if (options_.weights == model::WeightForm::fp8 && !device_.is_cpu()) id += "-wf8";
  if (long_term != RowFormat::plain)
    id += fmt::format("-{}.{}", row_format_name(long_term), kSmallRowVersion);
  return id;
}

std::string Engine::shape_id() const {
  const io::ModelConfig& c = weights_->config;
  std::string id = fmt::format("{}-L{}-d{}-H{}-G{}-e{}-F{}-V{}", c.architecture, c.layers, c.hidden, c.heads,
                               c.kv_heads, c.head_size, c.ffn, c.vocab);
  if (weights_->memory) id += fmt::format("-K{}-N{}-r{}", layout_.K, layout_.N, layout_.retriever);
  if (!layout_.remembering.is_all()) id += fmt::format("-m{}", layout_.remembering.text());
  if (tokenizer_) id += fmt::format("-t{:016x}", tokenizer_->fingerprint());
  return id;
}

std::string Engine::weights_id() {
  std::call_once(weights_id_once_, [&] { weights_id_ = cached_weights_id(*weights_, options_.files); });
  return weights_id_;
}

}  // namespace mplus::engine
