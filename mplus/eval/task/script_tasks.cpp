// The tasks that are scripts: facts told in conversations, facts told twice, and what was never told.
#include <algorithm>

#include "mplus/core/error.h"
#include "mplus/eval/data/order.h"
#include "mplus/eval/metric/words.h"
#include "mplus/eval/task/script.h"

namespace mplus::eval {
namespace {

std::vector<ScriptWrite> fillers_of(const std::vector<const FillerChunk*>& list) {
  std::vector<ScriptWrite> writes;
  writes.reserve(list.size());
  for (const FillerChunk* filler : list) writes.push_back({filler->text, {}, filler->origin});
  return writes;
}

void take_defaults(TaskOptions& options, std::int64_t samples, std::vector<std::int64_t> distances) {
  if (options.samples == 0) options.samples = samples;
  if (options.distances.empty()) options.distances = std::move(distances);
}

void put_settings(Json& fields, const TaskOptions& options) {
  fields["samples"] = options.samples;
  fields["distances"] = options.distances;
}

// Conversations one after the other with other text between them; all asked at the end, and later.
class Chat final : public ScriptTask {
 protected:
  const char* name() const override { return "chat"; }
  void build(engine::Engine& engine, Json& fields) override {
    take_defaults(options_, 50, {0, 20});
    put_settings(fields, options_);
    fields["asked_in"] = options_.ask_in_conversation ? "conversation" : "prompt";
    if (!engine.chat_template())
      fail(ErrorCode::unsupported, "chat: this model's files name no chat template");
    const auto all = read_conversations(options_.data);
    const auto order = random_order(all.size(), options_.seed, Choice::question);
    const Chunker chunker(engine.tokenizer(), engine.chunk_tokens());
    const std::int64_t tail = options_.distances.back();
    const Fillers fillers(options_.distractors, chunker, options_.samples + tail, engine.layout().K);
    const auto list = fillers_of(fillers.list(options_.samples + tail, options_.seed, 0));
    Script script;
    for (std::size_t index : order) {
      if (static_cast<std::int64_t>(script.asks.size()) == options_.samples) break;
      if (contains_gold(all[index].question.question, all[index].question.answers)) continue;
      ScriptAsk ask{.question = all[index].question, .gold = static_cast<std::int64_t>(script.writes.size())};
      if (options_.ask_in_conversation) ask.form = Form::turn;
      script.writes.push_back({"", all[index].turns, ask.question.id});
      script.writes.push_back(list[script.asks.size()]);
      script.asks.push_back(std::move(ask));
    }
    if (static_cast<std::int64_t>(script.asks.size()) < options_.samples)
      fail(ErrorCode::not_found, "{}: {} conversations wanted, {} fit", options_.data.string(),
           options_.samples, script.asks.size());
    const auto end = static_cast<std::int64_t>(script.writes.size());
    script.writes.insert(script.writes.end(), list.begin() + static_cast<std::ptrdiff_t>(options_.samples),
                         list.end());
    for (std::int64_t distance : options_.distances) script.points.push_back(end + distance);
    scripts_.push_back(std::move(script));
  }
};

// First all old values, then all new ones, other text between any two; asked at distances from the last.
class Twice final : public ScriptTask {
 protected:
  const char* name() const override { return "twice"; }
  void build(engine::Engine& engine, Json& fields) override {
    take_defaults(options_, 32, {0, 20});
    put_settings(fields, options_);
    told_ = read_twice_told(options_.data);
    const auto order = random_order(told_.size(), options_.seed, Choice::question);
    if (static_cast<std::int64_t>(told_.size()) < options_.samples)
      fail(ErrorCode::not_found, "{}: {} facts wanted, {} found", options_.data.string(), options_.samples,
           told_.size());
    const Chunker chunker(engine.tokenizer(), engine.chunk_tokens());
    const std::int64_t n = options_.samples, tail = options_.distances.back();
    const Fillers fillers(options_.distractors, chunker, 2 * n + tail, engine.layout().K);
    const auto list = fillers_of(fillers.list(2 * n + tail, options_.seed, 0));
    Script script;
    std::size_t next = 0;
    const auto chunk = [&](const std::string& text, const Golds& golds) {  // C tokens with the answer in them
      std::string_view answer;
      for (const std::string& gold : golds)
        if (answer.empty() && text.find(gold) != std::string::npos) answer = gold;
      return fill_chunk(chunker, {}, text, {}, answer).text;
    };
    for (std::int64_t i = 0; i < n; ++i) {
      const TwiceTold& told = told_[order[static_cast<std::size_t>(i)]];
      script.writes.push_back({chunk(told.first, told.old), {}, told.question.id});
      script.writes.push_back(list[next++]);
    }
    for (std::int64_t i = 0; i < n; ++i) {
      const TwiceTold& told = told_[order[static_cast<std::size_t>(i)]];
      ScriptAsk ask{.question = told.question, .gold = static_cast<std::int64_t>(script.writes.size())};
      script.asks.push_back(std::move(ask));
      script.writes.push_back({chunk(told.second, told.question.answers), {}, told.question.id});
      script.writes.push_back(list[next++]);
    }
    const auto end = static_cast<std::int64_t>(script.writes.size());
    script.writes.insert(script.writes.end(), list.begin() + static_cast<std::ptrdiff_t>(next), list.end());
    for (std::int64_t distance : options_.distances) script.points.push_back(end + distance);
    scripts_.push_back(std::move(script));
  }
  void judge(Json& sample, const Asked& asked, const ScriptAsk& ask) const override {
    put_answer(sample, asked, ask.question.answers);
    if (!asked.applicable) return;
    const auto told = std::find_if(told_.begin(), told_.end(),
                                   [&](const TwiceTold& t) { return t.question.id == ask.question.id; });
    const std::string line = first_line(asked.output);
    sample["new"] = contains_gold(line, ask.question.answers);
    sample["old"] = contains_gold(line, told->old);
  }

 private:
  std::vector<TwiceTold> told_;
};

class Unknown final : public ScriptTask {
 protected:
  const char* name() const override { return "unknown"; }
  void build(engine::Engine& engine, Json& fields) override {
    take_defaults(options_, 50, {20});
    put_settings(fields, options_);
    const auto all = read_questions(options_.data, PassageNeed::optional);
    const auto order = random_order(all.size(), options_.seed, Choice::question);
    if (static_cast<std::int64_t>(all.size()) < options_.samples)
      fail(ErrorCode::not_found, "{}: {} questions wanted, {} found", options_.data.string(),
           options_.samples, all.size());
    const Chunker chunker(engine.tokenizer(), engine.chunk_tokens());
    const Fillers fillers(options_.distractors, chunker, options_.distances.back(), engine.layout().K);
    Script script;
    script.writes = fillers_of(fillers.list(options_.distances.back(), options_.seed, 0));
    for (std::int64_t i = 0; i < options_.samples; ++i)
      script.asks.push_back({.question = all[order[static_cast<std::size_t>(i)]]});
    script.points = options_.distances;
    scripts_.push_back(std::move(script));
  }
  void judge(Json& sample, const Asked& asked, const ScriptAsk&) const override {
    if (!asked.applicable) {
      sample["applicable"] = false;
      return;
    }
    sample["output"] = asked.output;
    sample["unknown"] = says_unknown(first_line(asked.output));
    put_time(sample, asked);
  }
};

}  // namespace

std::unique_ptr<Task> make_chat() { return std::make_unique<Chat>(); }
std::unique_ptr<Task> make_twice() { return std::make_unique<Twice>(); }
std::unique_ptr<Task> make_unknown() { return std::make_unique<Unknown>(); }

}  // namespace mplus::eval
