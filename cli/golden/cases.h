// The kinds of golden cases, by the name their case.json gives.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "mplus/cli/golden/case_folder.h"

namespace mplus::golden {

using CaseFunction = std::function<void(const CaseFolder&, Report&)>;

CaseFunction find_case(std::string_view kind);  // empty if not known

void run_inject(const CaseFolder& folder, Report& report);
void run_reads(const CaseFolder& folder, Report& report);           // mplus_read
void run_sequence(const CaseFolder& folder, Report& report);        // mplus_sequence, memoryllm_read
void run_llama(const CaseFolder& folder, Report& report);           // llama3_rope
void run_retriever_loss(const CaseFolder& folder, Report& report);  // forward part
void run_train_step(const CaseFolder& folder, Report& report);      // forward part
void run_consensus(const CaseFolder& folder, Report& report);

// Whole cases on the real base model: a JSON file beside the case folders, and a delta's golden.json.
struct RealModel {
  std::filesystem::path model;
  std::filesystem::path delta;
  double nll_tolerance = 2e-4;
  kernels::Numerics numerics = kernels::Numerics::exact;
  DType memory_dtype = DType::f32;
  std::vector<std::string> cases;  // names; empty: all
  // Another rounding of delta, activations or memory recalls other rows at the edge: then means over an
  // answer and the best chunk are compared, not tokens, votes and rows.
  bool exact() const { return nll_tolerance < 1e-3; }
};
void run_base_model(const Json& json, const RealModel& files, Report& report);
void run_delta(const std::filesystem::path& folder, const RealModel& files, Report& report);

}  // namespace mplus::golden
