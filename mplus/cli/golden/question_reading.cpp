#include "mplus/cli/golden/question_reading.h"

#include "mplus/core/error.h"
#include "mplus/engine/answer/sampling/sampler.h"

namespace mplus::golden {

Way way_named(const std::string& name, const model::Weights& weights) {
  if (name == "no_memory") return {.has_memory = false};
  if (name == "short_term") return {};
  if (name == "per_layer") return {.policy = {.rule = RecallRule::per_layer}};
  if (name == "consensus_unweighted") return {.policy = {.rule = RecallRule::consensus}};
  const RecallPolicy& delta = weights.memory->recall;
  Way way{.policy = {.rule = name == "hybrid" ? RecallRule::hybrid : RecallRule::consensus,
                     .vote_top = delta.vote_top},
          .layer_weights = weights.vote_weights};
  if (name == "consensus" || name == "hybrid") return way;
  way.policy.over_everything = true;
  way.policy.margin = delta.margin;
  way.policy.attempts = delta.attempts;
  way.policy.read_over = ReadOver::recalled;
  if (name == "recalled") return way;
  if (!name.starts_with("turn_")) fail(ErrorCode::unsupported, "no way of reading is called {}", name);
  way.policy.read_over = ReadOver::attempts;
  way.attempt = std::stoll(name.substr(5));
  return way;
}

namespace {

// Notes what a rule recalls. Where the reference's rows are given the read goes on with those: two scores
// may be all but equal, and a row more or less would change everything that comes after.
class WatchedRecall final : public memory::Recall {
 public:
  WatchedRecall(std::unique_ptr<memory::Recall> rule, const std::vector<Births>& given)
      : rule_(std::move(rule)), given_(given.empty() ? nullptr : memory::recall_births(given)) {}

  bool wants_scout() const override { return rule_->wants_scout(); }
  void plan(kernels::Queue& queue, const memory::Memory& memory, std::span<const memory::LayerQueries> scout,
            const memory::Prior* prior) override {
    rule_->plan(queue, memory, scout, prior);
  }
  memory::LayerRecall rows(kernels::Queue& queue, const memory::Memory& memory, std::int64_t layer,
                           const memory::LayerQueries& queries) override {
    memory::LayerRecall own = rule_->rows(queue, memory, layer, queries);
    Births& births = recalled.at(static_cast<std::size_t>(layer));
    for (const memory::RecalledRow& row : own.rows) births.push_back(row.birth);
    seen.at(static_cast<std::size_t>(layer)) = own.short_term.value_or(Births());
    return given_ ? given_->rows(queue, memory, layer, queries) : own;
  }
  memory::FoundChunks* found() override { return rule_->found(); }

  std::vector<Births> recalled, seen;  // [L]

 private:
  std::unique_ptr<memory::Recall> rule_, given_;
};

class Reader {
 public:
  Reader(GoldenModel& model, const memory::Memory& memory, const Question& question, const Way& way,
         const std::vector<Births>& given)
      : model_(model),
        memory_(memory),
        question_(question),
        way_(way),
        recall_(memory::make_recall(way.policy, {.layer_weights = way.layer_weights}), given),
        cache_(model.weights().config.layers, model.workspace().kv_shape()) {
    recall_.recalled.resize(model.weights().layers.size());
    recall_.seen.resize(model.weights().layers.size());
    if (recall_.wants_scout()) plan();
  }

  // Reads these tokens, of which the question's ask.
  void read(std::span<const io::TokenId> tokens, const engine::TokenLogits& sink) {
    engine::Prefill block;
    block.item = asking(tokens);
    block.item.logits_from = question_.answer_starts - 1;
    block.logits = &sink;
    finish(block);
  }
  void step(io::TokenId token, const engine::TokenLogits& sink) {
    engine::Decode decode;
    decode.item = {.tokens = {&token, 1}, .cache = &cache_, .memory = &memory_};
    decode.logits = &sink;
    finish(decode);
  }
  void note(Reading& reading) {
    reading.recalled = recall_.recalled;
    reading.seen = recall_.seen;
    const memory::FoundChunks* found = recall_.found();
    if (!found) return;
    reading.votes = found->votes;
    reading.behind = found->attempts.behind().value_or(0);
    reading.has_next = found->attempts.has_next();
  }

 private:
  model::ReadItem asking(std::span<const io::TokenId> tokens) {
    return {.tokens = tokens,
            .cache = &cache_,
            .memory = &memory_,
            .recall = &recall_,
            .scouts_end = question_.answer_starts};
  }
  void finish(engine::Work work) { model_.runner().finish({&work, 1}); }
  // The question alone scouts: the answer is not known when it is asked.
  void plan() {
    const memory::Prior prior = [](std::int64_t chunk) { return static_cast<double>((7 * chunk + 3) % 5); };
    finish(engine::Scout{.item = asking(question_.asks()),
                         .plan = [&](kernels::Queue& queue, std::span<const memory::LayerQueries> states) {
                           recall_.plan(queue, memory_, states,
                                        way_.policy.rule == RecallRule::hybrid ? &prior : nullptr);
                         }});
    for (std::int64_t i = 0; i < way_.attempt; ++i) recall_.found()->attempts.next();
  }

  GoldenModel& model_;
  const memory::Memory& memory_;
  const Question& question_;
  const Way& way_;
  WatchedRecall recall_;
  model::AttentionCache cache_;
};

}  // namespace

Reading read_question(GoldenModel& model, const memory::Memory& memory, const Question& question,
                      const Way& way, const Given& given) {
  Reading reading;
  Reader whole(model, memory, question, way, given.rows);
  whole.read(question.window, [&](std::int64_t t, std::span<const float> logits) {
    if (reading.logits.empty()) reading.logits.assign(logits.begin(), logits.end());
    const auto next = static_cast<std::size_t>(t + 1);
    if (next < question.window.size())
      reading.answer_nll.push_back(engine::negative_log_likelihood(logits, question.window[next]));
  });
  whole.note(reading);
  // And as it is answered: the question, then a token at a time over the cache.
  Reader answering(model, memory, question, way, {});
  const engine::TokenLogits choose = [&](std::int64_t, std::span<const float> logits) {
    reading.greedy.push_back(engine::greedy(logits));
  };
  answering.read(question.asks(), choose);
  while (reading.greedy.size() < given.steps)
    answering.step(static_cast<io::TokenId>(reading.greedy.back()), choose);
  return reading;
}

}  // namespace mplus::golden
