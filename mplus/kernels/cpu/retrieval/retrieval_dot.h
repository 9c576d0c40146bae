// Scoring of small keys by dot products of four bytes, where MPLUS_RETRIEVAL_DOT is defined: on Arm with
// them, but without matrix instructions.
#pragma once

#include "mplus/kernels/cpu/table.h"

#if defined(MPLUS_ISA_NEON) && defined(__ARM_FEATURE_DOTPROD) && !defined(__ARM_FEATURE_MATMUL_INT8)
#define MPLUS_RETRIEVAL_DOT
namespace mplus::kernels::MPLUS_ISA {

std::size_t packed_queries_dot_size(std::int64_t T, std::int64_t d_r);
void pack_queries_dot(std::byte* packed, const float* q, std::int64_t T, std::int64_t d_r);
std::size_t score_dot_scratch(std::int64_t d_r);
void score_keys_dot(const ScoreJob& job, std::int64_t j0, std::int64_t j1, std::byte* scratch);

}  // namespace mplus::kernels::MPLUS_ISA
#endif
