// mean_t sigmoid(q_t · key_j): lanes are queries, keys are broadcast; one sum across lanes per key at the
// end.
#include "mplus/kernels/cpu/codes/dequantise.h"
#include "mplus/kernels/cpu/kernels.h"
#include "mplus/kernels/cpu/linear/tile.h"
#include "mplus/kernels/cpu/simd/math.h"

namespace mplus::kernels::MPLUS_ISA {
namespace {

constexpr std::int64_t kKeys = 64;  // of a block: converted to f32 once for all queries

// Adds sigmoid(q · key) of N vectors of queries to sums[key][lane]; `last` lanes of the last vector count.
template <int N>
void add_panel(F* sums, const float* queries, const float* keys, std::int64_t n, std::int64_t d_r,
               std::int64_t last) {
  I lane{};
  for (int i = 0; i < kLanes; ++i) lane[i] = i;
  const I counted = lane < splat(static_cast<std::int32_t>(last));
  for_tiles<kTileRows>(0, n, [&]<int M>(std::int64_t j) {
    F acc[M][N] = {};
    tile_of_rows(acc, keys + j * d_r, d_r, queries, N * kLanes, d_r);
    MPLUS_UNROLL for (int m = 0; m < M; ++m) {
      F total = sums[j + m];
      MPLUS_UNROLL for (int v = 0; v < N - 1; ++v) total = total + sigmoid(acc[m][v]);
      sums[j + m] = total + as_float(as_int(sigmoid(acc[m][N - 1])) & counted);
    }
  });
}

}  // namespace

std::size_t packed_queries_size(std::int64_t T, std::int64_t d_r) {
  return static_cast<std::size_t>((T + kLanes - 1) / kLanes * kLanes * d_r) * sizeof(float);
}

// Panels of kPanel queries, the last of as many whole vectors as it needs: [d_r, width] each.
void pack_queries(std::byte* packed, const float* q, std::int64_t T, std::int64_t d_r) {
  auto* to = reinterpret_cast<float*>(packed);
  for (std::int64_t t0 = 0; t0 < T; t0 += kPanel) {
    const std::int64_t count = min_of<std::int64_t>(kPanel, T - t0);
    const std::int64_t width = (count + kLanes - 1) / kLanes * kLanes;
    for (std::int64_t i = 0; i < d_r; ++i)
      for (std::int64_t lane = 0; lane < width; ++lane)
        *to++ = lane < count ? q[(t0 + lane) * d_r + i] : 0.0f;
  }
}

std::size_t score_scratch(std::int64_t d_r) {
  return static_cast<std::size_t>(kKeys * (d_r + kLanes)) * sizeof(float);
}

void score_keys(const ScoreJob& job, std::int64_t j0, std::int64_t j1, std::byte* scratch) {
  const auto [scores, packed, keys, dtype, T, d_r] = job;
  F* sums = reinterpret_cast<F*>(scratch);
  float* converted = reinterpret_cast<float*>(sums + kKeys);
  const std::int64_t element_bytes = dtype == DType::bf16 ? 2 : 4;
  for (; j0 < j1; j0 += kKeys) {
    const std::int64_t n = min_of(kKeys, j1 - j0);
    to_f32(converted, keys + j0 * d_r * element_bytes, dtype, n * d_r);
    for (std::int64_t j = 0; j < n; ++j) sums[j] = F{};
    auto* panel = reinterpret_cast<const float*>(packed);
    for (std::int64_t t = 0; t < T; t += kPanel) {
      const std::int64_t count = min_of<std::int64_t>(kPanel, T - t);
      const std::int64_t vectors = (count + kLanes - 1) / kLanes;
      const std::int64_t last = count - (vectors - 1) * kLanes;
      if (vectors == 1) add_panel<1>(sums, panel, converted, n, d_r, last);
      if (vectors == 2) add_panel<2>(sums, panel, converted, n, d_r, last);
      if (vectors == 3) add_panel<3>(sums, panel, converted, n, d_r, last);
      panel += vectors * kLanes * d_r;
    }
    for (std::int64_t j = 0; j < n; ++j) scores[j0 + j] = sum(sums[j]) / static_cast<float>(T);
  }
}

}  // namespace mplus::kernels::MPLUS_ISA
