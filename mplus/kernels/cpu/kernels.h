// The functions that this instruction set's Table is made of.
#pragma once

#include "mplus/kernels/cpu/table.h"

namespace mplus::kernels::MPLUS_ISA {

void quantise(const LinearJob& job, std::int64_t t0, std::int64_t t1);
void batched_f32(const LinearJob& job, std::int64_t panel, std::int64_t t0, std::int64_t t1,
                 std::byte* scratch);
void batched_i8(const LinearJob& job, std::int64_t panel, std::int64_t t0, std::int64_t t1,
                std::byte* scratch);
void vector_f32(const LinearJob& job, std::int64_t row0, std::int64_t row1);
void vector_i8(const LinearJob& job, std::int64_t row0, std::int64_t row1);
// Where MPLUS_ROUNDED is defined.
std::size_t rounded_bytes(std::int64_t T, std::int64_t inputs);
void round_rows(const LinearJob& job, std::int64_t t0, std::int64_t t1);
std::size_t batched_rounded_scratch(std::int64_t inputs, const Share& share);
void batched_rounded(const LinearJob& job, const Share& share, std::byte* scratch);
// Where MPLUS_INTERLEAVED is defined.
void interleave(std::byte* to, const LinearJob& job, std::int64_t group0, std::int64_t group1);
// Where MPLUS_FEW_I8 is defined.
void few_i8(const LinearJob& job, std::int64_t row0, std::int64_t row1);
std::size_t batched_f32_scratch(std::int64_t inputs);
std::size_t batched_i8_scratch(std::int64_t inputs);

void attend_panel(const AttendJob& job, std::int64_t group, std::int64_t panel, std::byte* scratch);
void attend_chunk(const AttendJob& job, std::int64_t t, std::int64_t group, std::int64_t chunk,
                  float* partial, std::byte* scratch);
void attend_merge(const AttendJob& job, std::int64_t t, std::int64_t group, const float* partials,
                  std::int64_t chunks);
std::size_t attend_panel_scratch(std::int64_t head_size);
std::size_t attend_chunk_scratch(std::int64_t sharing);
// Where MPLUS_AMX is defined.
std::size_t gated_scratch(const LinearJob& gate, const Share& share);
void gated(const LinearJob& gate, const LinearJob& up, const Share& share, std::byte* scratch);
inline constexpr std::int64_t kTiledLanes = 32, kTiledRows = 128;
std::size_t tiled_attention_bytes(const AttendJob& job);
void arrange_attention(const AttendJob& job, std::int64_t group, std::int64_t block);
std::size_t attend_tiles_scratch(std::int64_t head_size);
void attend_tiles(const AttendJob& job, std::int64_t group, std::int64_t panel, std::byte* scratch);

std::size_t packed_queries_size(std::int64_t T, std::int64_t d_r);
void pack_queries(std::byte* packed, const float* q, std::int64_t T, std::int64_t d_r);
std::size_t score_scratch(std::int64_t d_r);
void score_keys(const ScoreJob& job, std::int64_t j0, std::int64_t j1, std::byte* scratch);
std::size_t packed_queries_i8_size(std::int64_t T, std::int64_t d_r);
void pack_queries_i8(std::byte* packed, const float* q, std::int64_t T, std::int64_t d_r);
std::size_t score_i8_scratch(std::int64_t d_r);
void score_keys_i8(const ScoreJob& job, std::int64_t j0, std::int64_t j1, std::byte* scratch);
// Where MPLUS_SHORT_SIGMOID is defined.
void score_keys_i8_fast(const ScoreJob& job, std::int64_t j0, std::int64_t j1, std::byte* scratch);
// Where MPLUS_MATRIX_I8 is defined.
std::size_t packed_queries_matrix_size(std::int64_t T, std::int64_t d_r);
void pack_queries_matrix(std::byte* packed, const float* q, std::int64_t T, std::int64_t d_r);
std::size_t score_matrix_scratch(std::int64_t d_r);
void score_keys_matrix(const ScoreJob& job, std::int64_t j0, std::int64_t j1, std::byte* scratch);

void rms_norm_row(float* out, const float* x, const float* weight, std::int64_t d, float epsilon);
void swiglu(float* out, const float* gate, const float* up, std::int64_t n);
void silu(float* x, std::int64_t n);
void add(float* x, const float* y, std::int64_t n);
void rotate(float* out, const float* x, const float* cos, const float* sin, std::int64_t half);
void to_f32(float* out, const void* in, DType dtype, std::int64_t n);
void from_f32(void* out, DType dtype, const float* in, std::int64_t n);

extern const Table kTable;

}  // namespace mplus::kernels::MPLUS_ISA
