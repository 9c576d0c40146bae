#include "mplus/eval/task/script.h"

#include <algorithm>

#include "mplus/core/error.h"
#include "mplus/engine/event.h"
#include "mplus/eval/run/recorded_answers.h"

namespace mplus::eval {

bool ScriptAsk::due(std::int64_t point) const {
  return points.empty() ? gold < point : std::find(points.begin(), points.end(), point) != points.end();
}

RunIdentity ScriptTask::prepare(TaskRun& run) {
  options_ = run.options;
  engine_ = &run.engine;
  require_memory(run.engine, name());
  columns_ = task_columns(options_, default_columns());
  if (options_.max_tokens == 0) options_.max_tokens = default_max_tokens();
  Json fields{{"task", name()}};
  build(run.engine, fields);
  const bool one_set = !options_.data.empty() && options_.sets.size() < 2;
  if (one_set) fields["data"] = file_identity(options_.data);
  if (!one_set)
    for (const auto& file : options_.sets) fields["data"].push_back(file_identity(file));
  fields["distractors"] = Json::array();
  for (const auto& file : options_.distractors) fields["distractors"].push_back(file_identity(file));
  fields["max_tokens"] = options_.max_tokens;
  fields["evidence"] = evidence_identity(run.engine, options_);
  fields["talk"] = talk_identity(run.engine, options_);
  fields["seed"] = options_.seed;
  fields["model"] = model_identity(run.engine);
  fields["ids"] = Json::array();
  for (const Script& script : scripts_)
    for (const ScriptAsk& ask : script.asks) fields["ids"].push_back(ask.question.id);
  check();
  return {one_set ? fmt::format("{}-{}", name(), data_stem(options_.data)) : name(), fields};
}

void ScriptTask::check() const {
  const Asker asker(*engine_, nullptr, options_.max_tokens);
  for (const Script& script : scripts_)
    for (const ScriptAsk& ask : script.asks) {
      asker.check_length(ask.question, ask.form);
      check_prompt(ask, asker.prompt(ask.question.question));
    }
}

void ScriptTask::check_prompt(const ScriptAsk& ask, const std::string& prompt) const {
  if (contains_gold(prompt, ask.question.answers))
    fail(ErrorCode::corrupt, "leak: the prompt of question {} (line {}) holds an answer: \"{}\"",
         ask.question.id, ask.question.line, prompt);
}

std::string ScriptTask::key(std::size_t m, const ScriptAsk& ask, const Column& column,
                            std::int64_t point) const {
  return fmt::format("{}/{}/{}/{}", m, column.name, column.fixed() ? 0 : point, ask.question.id);
}

std::int64_t ScriptTask::last_needed(std::size_t m) const {
  std::int64_t last = 0;
  for (std::int64_t point : scripts_[m].points)
    for (const ScriptAsk& ask : scripts_[m].asks)
      for (const Column& column : columns_)
        if (!column.fixed() && ask.due(point) && !log_->has(key(m, ask, column, point))) last = point;
  return last;
}

std::int64_t ScriptTask::count_work() const {
  std::int64_t total = 0;
  for (std::size_t m = 0; m < scripts_.size(); ++m) {
    if (!options_.is_mine(m)) continue;
    total += last_needed(m) * engine_->chunk_tokens();
    for (const Column& column : columns_)
      for (std::size_t p = 0; p < (column.fixed() ? 1 : scripts_[m].points.size()); ++p)
        for (const ScriptAsk& ask : scripts_[m].asks)
          if ((column.fixed() || ask.due(scripts_[m].points[p])) &&
              !log_->has(key(m, ask, column, scripts_[m].points[p])))
            total += Steps::kAsk;
  }
  return total;
}

bool ScriptTask::work(TaskRun& run, RunLog& log) {
  log_ = &log;
  if (run.answers) {
    take(*run.answers);
    return true;
  }
  asker_.emplace(run.engine, wants_base(columns_) ? &run.base() : nullptr, options_.max_tokens,
                 options_.evidence, options_.talk);
  steps_.emplace(run.progress, count_work());
  for (std::size_t m = 0; m < scripts_.size(); ++m)
    if (options_.is_mine(m) && !run_script(m)) return false;
  return steps_->go("done");
}

void ScriptTask::write(const ScriptWrite& write, engine::Session& session, WrittenText& text) const {
  if (write.turns.empty()) return write_chunk(session, text, write.text, write.origin);
  write_conversation(session, text, write.turns);
}

bool ScriptTask::run_script(std::size_t m) {
  const Script& script = scripts_[m];
  engine::Session session(*engine_, options_.seed + m);
  WrittenText text;
  Scene scene{&session, &text, std::nullopt};
  asker_->begin_scene(scene);
  for (const Column& column : columns_)
    for (const ScriptAsk& one : script.asks)
      if (column.fixed() && !ask(m, one, column, scene, 0)) return false;
  const std::int64_t last = last_needed(m);
  for (std::int64_t point : script.points) {
    if (point > last) break;
    while (static_cast<std::int64_t>(text.chunks.size()) < point) {
      if (!steps_->go(fmt::format("writing, memory {} of {}", m + 1, scripts_.size()))) return false;
      write(script.writes[text.chunks.size()], session, text);
      steps_->did(engine_->chunk_tokens());
    }
    scene.presence.emplace(session.memory());
    asker_->begin_scene(scene);
    for (const Column& column : columns_)
      for (const ScriptAsk& one : script.asks)
        if (!column.fixed() && one.due(point) && !ask(m, one, column, scene, point)) return false;
  }
  return true;
}

bool ScriptTask::ask(std::size_t m, const ScriptAsk& ask, const Column& column, const Scene& scene,
                     std::int64_t point) {
  const std::string name = key(m, ask, column, point);
  if (log_->has(name)) return true;
  if (!steps_->go(fmt::format("asking {}", column.name))) return false;
  const std::string passage = ask.gold < 0 ? "" : scripts_[m].writes[static_cast<std::size_t>(ask.gold)].text;
  const std::int64_t gold = column.fixed() ? -1 : ask.gold;
  Asked asked;
  if (!ask.then.empty()) {
    asked = asker_->go_on(column, ask.question.question, ask.given, ask.then, gold, passage);
  } else if (!ask.options.empty()) {
    asked = asker_->choose(column, ask.question.question, ask.options);
  } else {
    asked = asker_->ask(column, ask.question.question, gold, passage, ask.form);
  }
  std::optional<Presence::Share> share;
  if (column.sees == Sees::memory && ask.gold >= 0)
    share = scene.presence->of(scene.text->updates[static_cast<std::size_t>(ask.gold)]);
  add_sample(m, ask, column, point, asked, share);
  steps_->did(Steps::kAsk);
  return true;
}

void ScriptTask::add_sample(std::size_t m, const ScriptAsk& ask, const Column& column, std::int64_t point,
                            const Asked& asked, const std::optional<Presence::Share>& share) {
  Json sample{{"id", ask.question.id}, {"memory", m}, {"column", column.name}};
  sample.update(ask.extra);
  if (!column.fixed()) {
    sample["written"] = point;
    if (ask.gold >= 0) sample["distance"] = point - 1 - ask.gold;
  }
  judge(sample, asked, ask);
  if (share && asked.applicable) put_memory(sample, asked, *share);
  log_->add(key(m, ask, column, point), sample);
}

void ScriptTask::take(const RecordedAnswers& answers) {
  for (std::size_t m = 0; m < scripts_.size(); ++m)
    for (const ScriptAsk& one : scripts_[m].asks)
      for (const Column& column : all_columns())
        for (const std::int64_t point : column.fixed() ? std::vector<std::int64_t>{0} : scripts_[m].points) {
          if ((!column.fixed() && !one.due(point)) || log_->has(key(m, one, column, point))) continue;
          if (const auto answer = answers.find(key(m, one, column, point)))
            add_sample(m, one, column, point, answer->asked, answer->share);
        }
}

}  // namespace mplus::eval
