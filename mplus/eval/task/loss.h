// Tasks 2 and 3: how surprising held-out text is, with and without memory (docs/evaluation.md, "Language
// modelling").
#pragma once

#include <memory>

#include "mplus/eval/task/task.h"

namespace mplus::eval {

std::unique_ptr<Task> make_lm_loss();
std::unique_ptr<Task> make_base();

}  // namespace mplus::eval
