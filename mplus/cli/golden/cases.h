// The kinds of golden cases, by the name their case.json gives.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>

#include "mplus/cli/golden/case_folder.h"

namespace mplus::golden {

// For cases on the real base model.
struct RealModel {
  std::filesystem::path model;
  std::filesystem::path delta;
  // Unset: as exact as the case says. Another rounding of activations or memory recalls other rows at the
  // edge: then means over an answer and clearly best chunks are compared, not tokens, votes and rows.
  std::optional<double> nll_tolerance;
  kernels::Numerics numerics = kernels::Numerics::exact;
  DType memory_dtype = DType::f32;
  DeviceChoice device = {};  // of every case
};

using CaseFunction = std::function<void(const CaseFolder&, const RealModel&, Report&)>;

CaseFunction find_case(std::string_view kind);  // empty if not known

void run_inject(const CaseFolder& folder, Report& report);
void run_reads(const CaseFolder& folder, Report& report);           // mplus_read
void run_sequence(const CaseFolder& folder, Report& report);        // mplus_sequence, memoryllm_read
void run_decoder(const CaseFolder& folder, Report& report);         // llama3_rope, decoder
void run_retriever_loss(const CaseFolder& folder, Report& report);  // forward part
void run_train_step(const CaseFolder& folder, Report& report);      // forward part
void run_consensus(const CaseFolder& folder, Report& report);

// On the real base model: a trained delta, and a JSON file beside the case folders without one.
void run_delta(const CaseFolder& folder, const RealModel& files, Report& report);
void run_base_model(const Json& json, const RealModel& files, Report& report);

}  // namespace mplus::golden
