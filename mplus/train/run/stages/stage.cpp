#include "mplus/train/run/stages/stage.h"

#include <fmt/core.h>

#include <algorithm>

#include "mplus/core/error.h"

namespace mplus::train {

Stage::Stage(const RunParts& run, const StageConfig& config, const Progress& from)
    : run_(run),
      config_(config),
      from_(from),
      profile_(run.model.device(), run.options.profile_steps),
      watch_(run.model.device()) {}

AdamW Stage::optimizer(const std::vector<Trained>& more) const {
  std::vector<Trained> trained = trained_tensors(run_.model, config_.rates);
  trained.insert(trained.end(), more.begin(), more.end());
  AdamW optimizer(std::move(trained), config_.adamw, run_.processes);
  if (from_.step > 0) load_checkpoint(run_.folder.checkpoint(), run_.model, optimizer);
  return optimizer;
}

double Stage::progress(std::int64_t step) const {
  const double by_steps = static_cast<double>(step) / static_cast<double>(config_.steps);
  return config_.minutes > 0 ? std::max(by_steps, seconds_since(started_) / (60 * config_.minutes))
                             : by_steps;
}

bool Stage::is_asked_to_stop() const {
  const RunOptions& options = run_.options;
  return (options.stop && *options.stop) ||
         (options.minutes > 0 && run_.clock.seconds_here() > 60 * options.minutes);
}

void Stage::put_off_stop(std::int64_t steps) {
  if (stop_put_off_ || !is_asked_to_stop()) return;
  stop_put_off_ = true;
  run_.log.say(
      fmt::format("stops in {} step{}, when the memories that are being written are done with; Ctrl-C "
                  "again leaves at once, and what was last saved stays",
                  steps, steps == 1 ? "" : "s"));
}

bool Stage::stops_before(std::int64_t step, AdamW& optimizer) {
  const auto agreed = [&](bool here) { return run_.processes ? run_.processes->any(here) : here; };
  // Whoever is asked to stop stops all; whose clock is ahead does, too.
  const bool stop = agreed(is_asked_to_stop());
  if (!stop && !agreed(run_.folder.seconds_since_saved() > 60 * run_.options.checkpoint_minutes))
    return false;
  check_health();
  run_.folder.save(run_.model, optimizer,
                   {.stage = from_.stage,
                    .step = step,
                    .seconds = run_.clock.seconds(),
                    .warm_up_from = from_.warm_up_from});
  return stop;
}

void Stage::begin_step(std::int64_t step) {
  profile_.before_step(step - from_.step, config_.name, run_.log);
  seed_draws(step);
}

void Stage::seed_draws(std::int64_t number) const {
  torch::manual_seed(run_.seed * 1'000'003 + static_cast<std::uint64_t>(from_.stage) * 100'000'007 +
                     static_cast<std::uint64_t>(number));
}

Tensor Stage::end_step(std::int64_t step, const Tensor& loss, AdamW& optimizer) {
  optimizer.sum_gradients();
  Tensor norm = optimizer.clip(config_.clip);
  watch_.see(step, loss, norm);
  optimizer.step(schedule_factor(step - from_.warm_up_from, config_.warm_up, std::min(1.0, progress(step)),
                                 config_.least));
  return norm;
}

void Stage::check_health() const {
  const std::string trouble = watch_.trouble(run_.processes);
  if (trouble.empty()) return;
  const std::filesystem::path checkpoint = run_.folder.checkpoint();
  const bool is_saved = std::filesystem::exists(checkpoint);
  fail(ErrorCode::cancelled, "stage {}: {}. The last good state is {}. Lower the learning rate and {}",
       config_.name, trouble, is_saved ? checkpoint.string() : "where the run began",
       is_saved ? "go on from there with --changed-recipe" : "begin again");
}

}  // namespace mplus::train
