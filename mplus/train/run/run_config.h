// A run's configuration file (TOML): which model, which data, and the stages one after another. Every key has
// a default but the files; a key the trainer does not know is an error that names it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "mplus/io/config/memory_config.h"
#include "mplus/train/lessons/lesson.h"
#include "mplus/train/retriever/round.h"
#include "mplus/train/run/stages/optimizer.h"
#include "mplus/train/run/stages/step.h"

namespace mplus::train {

struct DataFile {
  std::filesystem::path file;
  double weight = 1;  // how often it is drawn from, against the others
};

struct StageConfig {
  std::string name;  // in the log; "stage 1" and so on where the recipe gives none
  std::int64_t steps = 0;
  double minutes =
      0;  // if not 0, the stage ends after so long, the learning rate with it; `steps` at the latest
  bool retriever_only = false;  // kind = "retriever": frozen model, cached states (run/retriever_stage.h)
  LessonOptions lesson;
  StepOptions step;
  RetrieverStageOptions retriever;
  LearningRates rates{.adapter = 1e-3, .vectors = 1e-3};
  AdamWOptions adamw;
  std::int64_t warm_up = 60;  // steps
  double least = 0.1;         // of the learning rate, at the end
  double clip = 1;
};

struct RunConfig {
  std::uint64_t seed = 1;
  std::filesystem::path model,
      delta;  // no delta: one is begun with the sizes of `memory`; else only its `layers` counts
  io::MemoryConfig memory;
  std::vector<DataFile> texts, questions;
  std::int64_t bad_lines = 10;
  bool spare_memory = false;  // Model::spare_memory: for a large base
  std::vector<StageConfig> stages;
  std::string text;  // the file, for the record
};

// Paths in the file are relative to it.
RunConfig load_run_config(const std::filesystem::path& file);

}  // namespace mplus::train
