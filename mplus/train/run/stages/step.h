// One step of training: a lesson's writes and reads through the model, its losses and their gradients.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mplus/train/lessons/lesson.h"
#include "mplus/train/model/model.h"
#include "mplus/train/model/stream_memory.h"
#include "mplus/train/processes/processes.h"

namespace mplus::train {

struct StepOptions {
  std::int64_t store = 8192;  // long-term rows a layer of living streams
  double recall = .85;        // reads of living streams that recall; the others see short-term memory only
  double right = .85;         // of these: the chunk that holds the answer is recalled, else only others
  double alone = 0;           // and of these: no more rows than one chunk has
  double retriever_loss = 0;  // weight of the paper's retriever losses on short-term rows
  double gradient = 1;        // steps with gradient through their writes; the others train reading alone
};

// Sums over answers since they were last taken, by task; on the device, so that adding waits for nothing.
class Tally {
 public:
  explicit Tally(torch::Device device);
  void add(const Tensor& nll, const Tensor& weight, const Tensor& task);  // [n] each
  struct Line {
    std::string task;
    double nll = 0;  // mean of the answers' tokens
    double tokens = 0;
  };
  std::vector<Line> take(Processes* processes = nullptr);  // of all processes; and starts anew

 private:
  Tensor sums_;  // [tasks, 2]: nll, tokens
};

// The loss of a lesson, with gradient where gradients are on. Random choices come from the device's default
// generators, seeded by the caller. `live`, the memory of streams that live on from step to step, is written
// to and detached. Of several processes each gets the part of its streams: these add up to the loss of all
// streams in one process, and so do their gradients.
Tensor lesson_loss(const Model& model, const Lesson& lesson, const StepOptions& options,
                   std::optional<StreamMemory>& live, Tally& tally, Processes* processes = nullptr);

// The same reads without any memory: what the answers cost to someone who has read nothing.
void tally_without_memory(const Model& model, const Lesson& lesson, Tally& tally);

}  // namespace mplus::train
