// What both kinds of stage have in common: their place in the run, their clock, the moments between steps and
// the end of each step. lesson_stage.h and retriever_stage.h are the kinds.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "mplus/train/lessons/chunk_maker.h"
#include "mplus/train/run/files/run_folder.h"
#include "mplus/train/run/profile.h"
#include "mplus/train/run/run_config.h"
#include "mplus/train/run/stages/loss_watch.h"
#include "mplus/train/run/stages/optimizer.h"

namespace mplus::train {

// What a run lends its stages, for as long as they take.
struct RunParts {
  const RunOptions& options;
  std::uint64_t seed;
  Model& model;
  const Material& material;
  const Material& held_out;  // of the same files, never trained on; without texts: nothing is
  RunLog& log;
  RunFolder& folder;
  const RunClock& clock;
  Processes* processes;  // null: this process alone
};

class Stage {
 public:
  // `from`: where it begins or goes on.
  Stage(const RunParts& run, const StageConfig& config, const Progress& from);

  const RunParts& run() const { return run_; }
  const StageConfig& config() const { return config_; }
  std::uint64_t seed() const { return run_.seed + static_cast<std::uint64_t>(from_.stage); }
  Share share() const { return run_.processes ? run_.processes->share() : Share{}; }
  std::int64_t first_step() const { return from_.step; }

  // Over what the stage's rates train and `more`; in the state of the checkpoint where the stage goes on.
  AdamW optimizer(const std::vector<Trained>& more) const;

  void start_clock() { started_ = Clock::now(); }
  // From 0 to 1. By the clock where the stage says how long it takes: then a run is not repeated bit for bit.
  double progress(std::int64_t step) const;
  // Between two steps, where the run can be taken up again: saves where that is due. True where the run has
  // to stop; then it is saved, too.
  bool stops_before(std::int64_t step, AdamW& optimizer);
  // Where it cannot: tells whoever asked it to stop, once, in how many steps it will.
  void put_off_stop(std::int64_t steps);
  void begin_step(std::int64_t step);
  // Whatever is drawn on the device from here on is a function of the run's seed, the stage and this number:
  // a step's own; negative ones are for what is drawn between steps.
  void seed_draws(std::int64_t number) const;
  // Steps along the gradients of this loss; returns their norm before clipping, a scalar tensor.
  Tensor end_step(std::int64_t step, const Tensor& loss, AdamW& optimizer);
  // Stops the run, and names the last good state, where it does not learn any more (loss_watch.h). Waits for
  // the device. Asked before anything is saved.
  void check_health() const;

 private:
  bool is_asked_to_stop() const;

  const RunParts& run_;
  const StageConfig& config_;
  Progress from_;
  Profile profile_;
  LossWatch watch_;
  bool stop_put_off_ = false;
  Clock::time_point started_ = Clock::now();
};

}  // namespace mplus::train
