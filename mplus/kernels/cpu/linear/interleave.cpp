// Weights as codes, kLanes rows at a time in the order the products read them: block by block, what is at
// byte `at` of a row's block is, for all these rows, at kLanes * at. Scales stand beside each other, a lane a
// row; codes stand sixteen bytes a row in kTileOrder (lane_words.h). The bytes are those of the file; a last
// group that lacks rows repeats the last one.
#include "mplus/kernels/cpu/codes/lane_codes.h"
#include "mplus/kernels/cpu/kernels.h"

namespace mplus::kernels::MPLUS_ISA {

#if defined(MPLUS_INTERLEAVED)
namespace {

// Where a block's codes begin and end; scales stand around them.
constexpr int codes_begin(DType t) {
  switch (t) {
    case DType::i8:
    case DType::q6_k:
      return 0;
    case DType::q4_1:
      return 4;
    case DType::q5_0:
      return 6;
    case DType::q5_1:
      return 8;
    default:
      return is_k_quant(t) ? 16 : 2;
  }
}
constexpr int codes_end(DType t) { return t == DType::q6_k ? 192 : static_cast<int>(stored_bytes(t)); }

template <DType kType>
MPLUS_INLINE void interleave_block(std::byte* to, const RowBlocks& from) {
  I four[4];
  const auto put = [&](int at) {
    MPLUS_UNROLL for (int k = 0; k < 4; ++k) store_bits(to + kLanes * at + kVectorBytes * k, four[k]);
  };
  for (int at = codes_begin(kType); at < codes_end(kType); at += 16) {
    from.codes<kTileOrder>(four, at);
    put(at);
  }
  if constexpr (is_k_quant(kType)) {
    constexpr int kScales = kType == DType::q6_k ? 192 : 0;
    from.lanes(four, kScales);
    put(kScales);
    if constexpr (kType == DType::q6_k) narrow_u16(to + kLanes * 208, from.half_words(208));
  } else if constexpr (kType != DType::i8) {
    narrow_u16(to, from.half_words(0));
    if constexpr (has_minimum(kType)) narrow_u16(to + kLanes * 2, from.half_words(2));
    constexpr int kFifth = has_minimum(kType) ? 4 : 2;  // bits of Q5_0 and Q5_1
    if constexpr (kFifth < codes_begin(kType)) store_bits(to + kLanes * kFifth, from.words(kFifth));
  }
}

}  // namespace

void interleave(std::byte* to, const LinearJob& job, std::int64_t group0, std::int64_t group1) {
  for_code_type(job.dtype, [&]<DType kType>() {
    for (std::int64_t group = group0; group < group1; ++group) {
      const LaneRows rows = lane_rows(job, group * kLanes, job.outputs);
      std::byte* out = to + group * kLanes * job.row_bytes;
      for (std::int64_t at = 0; at < job.row_bytes; at += stored_bytes(kType))
        interleave_block<kType>(out + kLanes * at, rows.blocks(at));
    }
  });
}
#endif

}  // namespace mplus::kernels::MPLUS_ISA
