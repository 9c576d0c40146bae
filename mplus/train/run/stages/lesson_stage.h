// A stage of lessons: each step makes a lesson, runs it through the model (step.h) and steps along the
// gradients. It can be left between two lives of the living streams, whose memories no checkpoint holds.
#pragma once

#include "mplus/train/run/stages/stage.h"

namespace mplus::train {

RunEnd run_lessons(Stage& stage);

}  // namespace mplus::train
