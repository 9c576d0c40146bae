#include "mplus/train/run/stage.h"

#include <algorithm>
#include <cmath>

#include "mplus/core/error.h"

namespace mplus::train {

Stage::Stage(const RunParts& run, const StageConfig& config, const Progress& from)
    : run_(run), config_(config), from_(from), profile_(run.model.device(), run.options.profile_steps) {}

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

bool Stage::stops_before(std::int64_t step, AdamW& optimizer) {
  const RunOptions& options = run_.options;
  const auto agreed = [&](bool here) { return run_.processes ? run_.processes->any(here) : here; };
  // Whoever is asked to stop stops all; whose clock is ahead does, too.
  const bool stop = agreed((options.stop && *options.stop) ||
                           (options.minutes > 0 && run_.clock.seconds_here() > 60 * options.minutes));
  if (stop || agreed(run_.folder.seconds_since_saved() > 60 * options.checkpoint_minutes))
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

Tensor Stage::end_step(std::int64_t step, AdamW& optimizer) const {
  optimizer.sum_gradients();
  Tensor norm = optimizer.clip(config_.clip);
  optimizer.step(schedule_factor(step - from_.warm_up_from, config_.warm_up, std::min(1.0, progress(step)),
                                 config_.least));
  return norm;
}

void Stage::check_finite(double loss, double norm, std::int64_t step) const {
  if (std::isfinite(loss) && std::isfinite(norm)) return;
  const std::filesystem::path checkpoint = run_.folder.checkpoint();
  fail(ErrorCode::cancelled,
       "step {}: the loss is {}, the norm of the gradients {}. The last good state is {}", step, loss, norm,
       std::filesystem::exists(checkpoint) ? checkpoint.string() : "where the run began");
}

}  // namespace mplus::train
