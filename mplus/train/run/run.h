// A run of the trainer: its stages one after another, with a log, checkpoints that resume it exactly, and a
// delta at the end of every stage.
#pragma once

#include <atomic>
#include <filesystem>

#include "mplus/train/run/run_config.h"

namespace mplus::train {

struct RunOptions {
  std::filesystem::path out;    // log.jsonl, losses.svg, checkpoint.safetensors, delta.safetensors, base/
  std::filesystem::path cache;  // tokenised data
  std::string device = "auto";  // "cpu", "cuda"
  double minutes = 0;           // stop, resumable, after so long; 0: no limit
  double checkpoint_minutes = 4;
  std::int64_t report_steps = 25;        // a line in the log
  std::int64_t profile_steps = 0;        // of every stage, its first ones left out: what their time goes to
  std::string commit;                    // for the record
  std::filesystem::path travel;          // the checkpoint, packed (travel.h); may be empty
  double travel_mebibytes = 60;          // at most, where weights alone allow it
  bool changed_recipe = false;           // go on although the checkpoint was made with another one
  DType base_dtype = DType::bf16;        // of the base, where it is trained: bf16 or f32
  double process_timeout_seconds = 600;  // how long processes wait for each other
  const std::atomic<bool>* stop = nullptr;  // set by Ctrl-C: save and return
};

enum class RunEnd { finished, stopped };

// Resumes where the folder holds a checkpoint, made with the same configuration and data. Where the
// environment says so (processes.h) this process is one of several that share the streams of every step.
RunEnd run(const RunConfig& config, const RunOptions& options);

}  // namespace mplus::train
