// A run, saved so that it goes on as if it had not stopped: the tensors that are trained, their moments and
// the counters. Random numbers are a function of seed and step, so no generator is kept. One safetensors
// file, written atomically.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "mplus/train/run/stages/optimizer.h"

namespace mplus::train {

struct Progress {
  std::int64_t stage = 0, step = 0;    // step: of the stage
  double seconds = 0;                  // of training so far
  std::int64_t warm_up_from = 0;       // step of the stage from which the learning rate warms up
  std::string recipe = {}, data = {};  // what the run is made of, as hashes; empty: not known
};

// Every tensor of the delta, trained or not, the base's where it has been trained, and the optimizer's own.
// Of several processes all call it and the first one writes; any number of them can go on from the file.
void save_checkpoint(const std::filesystem::path& file, Model& model, AdamW& optimizer,
                     const Progress& progress);

// Gives a model the parts that the checkpoint has: which of those a model may be without, and whether the
// base has been trained. Values come with load_checkpoint; optimizers are made in between.
void match_parts(const std::filesystem::path& file, Model& model);

// Into a model of the same shape and parts and an optimizer over the same tensors; anything else is an error.
// An optimizer without tensors takes the model's alone: the state of a run between its stages.
Progress load_checkpoint(const std::filesystem::path& file, Model& model, AdamW& optimizer);
Progress checkpoint_progress(const std::filesystem::path& file);  // reads nothing else

}  // namespace mplus::train
