// Questions on the part of the data that is never trained on, the same ones whenever they are asked: where
// their loss rises while that of the lessons falls, a model learns its passages by heart.
#pragma once

#include <vector>

#include "mplus/train/run/stages/stage.h"
#include "mplus/train/run/stages/step.h"

namespace mplus::train {

class Exam {
 public:
  explicit Exam(const Stage& stage);
  // By task; nothing where nothing is held out. Draws from the device's generators, which every step seeds.
  std::vector<Tally::Line> sit();

 private:
  const Stage& stage_;
  std::vector<Lesson> lessons_;  // none: nothing is held out
  Tally tally_;
};

}  // namespace mplus::train
