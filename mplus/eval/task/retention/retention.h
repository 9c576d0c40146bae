// Task 1: is a passage still known after n more chunks of other text? (docs/evaluation.md, "Retention")
#pragma once

#include <memory>

#include "mplus/eval/task/task.h"

namespace mplus::eval {

std::unique_ptr<Task> make_retention();

}  // namespace mplus::eval
