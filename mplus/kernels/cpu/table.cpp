#include "mplus/kernels/cpu/kernels.h"
#include "mplus/kernels/cpu/linear/tile.h"
#include "mplus/kernels/cpu/retrieval/retrieval_dot.h"

namespace mplus::kernels::MPLUS_ISA {

extern const Table kTable = {
    .name = MPLUS_ISA_NAME,
    .panel = kPanel,
    .panel_i8 = kPanelI8,
    .group_i8 = kTileRowsI8,
#if defined(MPLUS_ROUNDED)
    .panel_rounded = kPanelRounded,
    .group_rounded = kTileRowsRounded,
    .most_panels = kMostPanels,
    .rounded_bytes = rounded_bytes,
    .round_rows = round_rows,
    .batched_rounded_scratch = batched_rounded_scratch,
    .batched_rounded = batched_rounded,
#endif
#if defined(MPLUS_AMX)
    .gated_scratch = gated_scratch,
    .gated = gated,
#endif
#if defined(MPLUS_INTERLEAVED)
    .group_weights = kLanes,
    .interleave = interleave,
#endif
#if defined(MPLUS_FEW_I8)
    .few_i8 = few_i8,
#endif
#if defined(MPLUS_ISA_AVX512) && !defined(MPLUS_AMX)
    .short_rows = 128,
#elif defined(MPLUS_ISA_AVX2)
    .short_rows = 32,
#endif
    .quantise = quantise,
    .batched_f32 = batched_f32,
    .batched_i8 = batched_i8,
    .vector_f32 = vector_f32,
    .vector_i8 = vector_i8,
    .batched_f32_scratch = batched_f32_scratch,
    .batched_i8_scratch = batched_i8_scratch,
#if defined(MPLUS_HALF_CACHES)
    .fast_cache = DType::f16,
#endif
    .attend_panel = attend_panel,
    .attend_chunk = attend_chunk,
    .attend_merge = attend_merge,
    .attend_panel_scratch = attend_panel_scratch,
    .attend_chunk_scratch = attend_chunk_scratch,
#if defined(MPLUS_AMX)
    .tiled = {kTiledLanes, kTiledRows, tiled_attention_bytes, arrange_attention, attend_tiles_scratch,
              attend_tiles},
#endif
    .plain = {packed_queries_size, pack_queries, score_scratch, score_keys},
    .small = {packed_queries_i8_size, pack_queries_i8, score_i8_scratch, score_keys_i8},
#if defined(MPLUS_MATRIX_I8)
    .small_fast = {packed_queries_matrix_size, pack_queries_matrix, score_matrix_scratch, score_keys_matrix},
#elif defined(MPLUS_RETRIEVAL_DOT)
    .small_fast = {packed_queries_dot_size, pack_queries_dot, score_dot_scratch, score_keys_dot},
#elif defined(MPLUS_SHORT_SIGMOID)
    .small_fast = {packed_queries_i8_size, pack_queries_i8, score_i8_scratch, score_keys_i8_fast},
#endif
    .rms_norm_row = rms_norm_row,
    .swiglu = swiglu,
    .silu = silu,
    .add = add,
    .rotate = rotate,
    .to_f32 = to_f32,
    .from_f32 = from_f32,
};

}  // namespace mplus::kernels::MPLUS_ISA
