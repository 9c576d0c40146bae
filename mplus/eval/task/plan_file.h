// A run's plan in a file, so that something else than this program can carry it out (docs/evaluation.md,
// "Plans"): JSON lines, first what the run is, then one memory a line.
#pragma once

#include <filesystem>

#include "mplus/eval/task/script.h"

namespace mplus::eval {

inline constexpr const char* kPlanSchema = "mplus-eval-plan";
inline constexpr const char* kAnswersSchema = "mplus-eval-answers";
inline constexpr int kPlanVersion = 1;

// Runs no model; words are looked up here, in the index that recall by words asks.
void write_plan(const std::filesystem::path& file, engine::Engine& engine, const RunIdentity& identity,
                const Planned& plan);

}  // namespace mplus::eval
