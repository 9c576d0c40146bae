// Task 6: what remembering costs: time to write and to answer, and memory, as the text grows.
#pragma once

#include <memory>

#include "mplus/eval/task/task.h"

namespace mplus::eval {

std::unique_ptr<Task> make_cost();

}  // namespace mplus::eval
