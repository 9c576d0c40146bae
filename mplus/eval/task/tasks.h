// The tasks by name.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mplus/eval/task/task.h"

namespace mplus::eval {

std::string task_names();  // for messages
bool is_task(const std::string& name);
std::unique_ptr<Task> make_task(const std::string& name);

// Which tasks know an option ("--start") that only some know; none: an option of all.
std::vector<std::string> tasks_with(std::string_view option);

bool takes_sets(const std::string& name);  // all its files in one run

// The files a task runs on, one run for each unless it takes sets: those named, or of a folder those known by
// name. One empty path for a task that needs none. Throws invalid_argument where a task needs data and none
// is named.
std::vector<std::filesystem::path> task_data(const std::string& name,
                                             const std::vector<std::filesystem::path>& named);

}  // namespace mplus::eval
