#include "mplus/cli/bench/questions.h"

#include <memory>
#include <vector>

#include "mplus/cli/bench/work.h"
#include "mplus/core/error.h"
#include "mplus/engine/run/runner.h"

namespace mplus::cli {
namespace {

// One question, read as engine/answer/reading.cpp does.
class Question {
 public:
  Question(engine::Engine& engine, FullMemory& full, std::int64_t tokens, RecallRule rule)
      : engine_(engine),
        full_(full),
        window_(full.window.size()),
        question_(bench_tokens(engine, tokens)),
        recall_(memory::make_recall({.rule = rule, .vote_top = engine.recall_policy().vote_top},
                                    {.layer_weights = engine.weights().vote_weights})),
        cache_(engine.weights().config.layers, engine.workspace().kv_shape()) {}
  ~Question() { full_.window.truncate(window_); }
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;

  double scout = 0, plan = 0, read = 0;

  void ask(std::int64_t expected) {
    const memory::Layout& layout = engine_.layout();
    const std::int64_t T = std::ssize(question_);
    read += seconds_of([&] {
      full_.window.reserve(window_ + T + expected);
      cache_.reserve(engine_.queue(), 1 + layout.K0 + layout.N + window_ + T + expected);
    });
    if (recall_->wants_scout()) {
      engine::Work scouting =
          engine::Scout{.item = item(question_),
                        .plan = [&](kernels::Queue& queue, std::span<const memory::LayerQueries> states) {
                          plan = seconds_of([&] { recall_->plan(queue, full_.memory, states, nullptr); });
                        }};
      scout = seconds_of([&] { finish(scouting); }) - plan;
    }
    engine::Prefill prompt;
    prompt.item = item(question_);
    prompt.item.logits_from = T - 1;
    prompt.item.chosen = &next_;
    engine::Work reading = prompt;
    read += seconds_of([&] { finish(reading); });
  }
  double decode_seconds(std::int64_t tokens) {
    engine::Decode step;
    return seconds_of([&] {
      for (std::int64_t i = 0; i < tokens; ++i) {
        const io::TokenId token = next_.id;
        step.item = item({&token, 1});
        step.item.chosen = &next_;
        engine::Work work = step;
        finish(work);
      }
    });
  }

 private:
  model::ReadItem item(std::span<const io::TokenId> tokens) {
    return {.tokens = tokens,
            .cache = &cache_,
            .window = &full_.window,
            .memory = &full_.memory,
            .recall = recall_.get(),
            .scouts_end = std::ssize(tokens)};
  }
  void finish(engine::Work& work) { engine_.runner().finish({&work, 1}); }

  engine::Engine& engine_;
  FullMemory& full_;
  std::int64_t window_;
  std::vector<io::TokenId> question_;
  std::unique_ptr<memory::Recall> recall_;
  model::AttentionCache cache_;
  model::ChosenToken next_;
};

}  // namespace

FirstToken first_token(engine::Engine& engine, FullMemory& full, std::int64_t tokens, RecallRule rule,
                       int repetitions) {
  std::vector<double> whole, scout, plan, read;
  for (int i = 0; i <= repetitions; ++i) {
    Question question(engine, full, tokens, rule);
    question.ask(16);
    if (i == 0) continue;  // it warms up
    whole.push_back(question.scout + question.plan + question.read);
    scout.push_back(question.scout);
    plan.push_back(question.plan);
    read.push_back(question.read);
  }
  return {spread_of(std::move(whole)), spread_of(std::move(scout)), spread_of(std::move(plan)),
          spread_of(std::move(read))};
}

Spread decode_over(engine::Engine& engine, FullMemory& full, std::int64_t tokens, int repetitions) {
  std::vector<double> rates;
  for (int i = 0; i < repetitions; ++i) {
    Question question(engine, full, 32, RecallRule::consensus);
    question.ask(tokens + 1);
    question.decode_seconds(1);
    rates.push_back(static_cast<double>(tokens) / question.decode_seconds(tokens));
  }
  return spread_of(std::move(rates));
}

}  // namespace mplus::cli
