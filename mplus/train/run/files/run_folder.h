// What a run leaves in its folder: checkpoints that resume it exactly, packed ones where they travel, a
// picture of its losses, the delta of every stage and, where it was trained, the base.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "mplus/train/run/files/checkpoint.h"
#include "mplus/train/run/run.h"
#include "mplus/train/run/run_clock.h"
#include "mplus/train/run/run_plot.h"

namespace mplus::train {

// What a run is made of, for its record and to know it again.
struct RunOrigin {
  std::filesystem::path model;  // the base it began with
  io::StringMap record;         // goes into the delta's metadata
  std::string recipe, data;     // hashes
};

// Of several processes all make the same calls, and the first one writes.
class RunFolder {
 public:
  RunFolder(const RunOptions& options, const RunOrigin& origin, RunLog& log, Processes* processes);

  std::filesystem::path checkpoint() const { return options_.out / "checkpoint.safetensors"; }
  // Where the run goes on, if it does: from the checkpoint, or from a packed one where there is no other. An
  // error where the checkpoint was made of something else.
  std::optional<Progress> find_checkpoint();

  void save(Model& model, AdamW& optimizer, Progress progress);
  double seconds_since_saved() const { return seconds_since(saved_); }

  // The delta, and the base where it has been trained.
  void save_result(Model& model, std::int64_t stages_done, std::size_t stages);

 private:
  void check_agreement(const std::optional<Progress>& found);
  void pack();
  bool writes() const { return !processes_ || processes_->is_first(); }

  const RunOptions& options_;
  const RunOrigin& origin_;
  RunLog& log_;
  Processes* processes_;
  RunPlot plot_;
  Clock::time_point saved_ = Clock::now();
};

}  // namespace mplus::train
