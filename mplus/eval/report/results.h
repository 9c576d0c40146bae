// results.json: everything that came out of the runs of one folder (docs/evaluation.md, "Result files").
#pragma once

#include <filesystem>

#include "mplus/eval/report/run_log.h"

namespace mplus::eval {

// The folder's runs; of a folder without results.json, none. Throws unsupported for another version, corrupt
// for what is no result file.
Json read_results(const std::filesystem::path& folder);

// Puts a run in, in place of an earlier one of the same name.
void put_run(Json& results, Json run);
void write_results(const std::filesystem::path& folder, const Json& results);

}  // namespace mplus::eval
