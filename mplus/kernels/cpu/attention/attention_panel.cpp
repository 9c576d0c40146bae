// Attention of many queries. A panel's lanes are kPanel (query, head) pairs of one group; keys and values
// stay as they lie in the cache and are broadcast, so the softmax over keys runs down the lanes and nothing
// is ever summed across them. Blocks of keys start at multiples of kKeys: a query's result depends on its own
// row and the cache alone.
#include "mplus/kernels/cpu/attention/attention_pairs.h"
#include "mplus/kernels/cpu/kernels.h"
#include "mplus/kernels/cpu/linear/tile.h"
#include "mplus/kernels/cpu/simd/math.h"

namespace mplus::kernels::MPLUS_ISA {
namespace {

constexpr std::int64_t kKeys = 64;

struct Panel : PanelPairs {
  const std::byte* keys;  // of the group, [rows, e] of the cache's type
  const std::byte* values;
  float* q;                // [e, kPanel], scaled
  float* scores;           // [kKeys, kPanel]
  float* out;              // [e, kPanel]
  float* converted;        // [kKeys, e]: a block of keys or values that are not f32
  I limits[kTileVectors];  // cache rows that a lane sees
  F maxima[kTileVectors];
  F sums[kTileVectors];

  // Rows [j0, j1) of keys or values.
  const float* block(const std::byte* rows, std::int64_t j0, std::int64_t j1) const {
    const std::int64_t e = job.head_size;
    if (job.cache == DType::f32) return reinterpret_cast<const float*>(rows) + j0 * e;
    to_f32(converted, rows + j0 * e * 2, job.cache, (j1 - j0) * e);
    return converted;
  }
};

void load_queries(Panel& p) {
  const std::int64_t e = p.job.head_size;
  for (std::int64_t lane = 0; lane < kPanel; ++lane) {
    const float* q = p.job.q + p.offset(lane);
    for (std::int64_t i = 0; i < e; ++i) p.q[i * kPanel + lane] = q[i] * p.job.scale;
    p.limits[lane / kLanes][lane % kLanes] = static_cast<std::int32_t>(p.visible(lane));
  }
  for (std::int64_t i = 0; i < e * kPanel; ++i) p.out[i] = 0.0f;
}

template <int N>
void score_keys_block(const Panel& p, std::int64_t j0, std::int64_t j1) {
  const std::int64_t e = p.job.head_size;
  const float* keys = p.block(p.keys, j0, j1);
  for_tiles<kTileRows>(j0, j1, [&]<int M>(std::int64_t j) {
    F acc[M][N] = {};
    tile_of_rows(acc, keys + (j - j0) * e, e, p.q, kPanel, e);
    store_tile(p.scores + (j - j0) * kPanel, kPanel, acc);
  });
}

// A lane's block of scores: at[j * kPanel] becomes the weight of key j relative to `maximum`. Adds them up.
template <class Exp>
MPLUS_INLINE F weigh(float* at, std::int64_t keys, F maximum, F total, const Exp& exp_of) {
  for (std::int64_t j = 0; j < keys; ++j, at += kPanel) {
    const F weight = exp_of(load(at) - maximum);
    store(at, weight);
    total = total + weight;
  }
  return total;
}

// Scores become weights relative to the new maximum; returns how much earlier results shrink.
template <int N>
void soften(Panel& p, std::int64_t j0, std::int64_t j1, F (&shrink)[N]) {
  const bool masked = j1 > p.visible(0);
  for (int n = 0; n < N; ++n) {
    float* scores = p.scores + n * kLanes;
    F maximum = p.maxima[n], minimum = splat(__builtin_inff());
    for (std::int64_t j = j0; j < j1; ++j) {
      float* at = scores + (j - j0) * kPanel;
      F s = load(at);
      if (masked) {
        s = splat(static_cast<std::int32_t>(j)) < p.limits[n] ? s : splat(-__builtin_inff());
        store(at, s);
      }
      maximum = max(maximum, s);
      minimum = min(minimum, s);
    }
    shrink[n] = exp(p.maxima[n] - maximum);
    const F total = p.sums[n] * shrink[n];
    p.sums[n] = -max_lane(maximum - minimum) >= kNearest
                    ? weigh(scores, j1 - j0, maximum, total, [](F x) { return exp_near(x); })
                    : weigh(scores, j1 - j0, maximum, total, [](F x) { return exp(x); });
    p.maxima[n] = maximum;
  }
}

template <int N>
void add_values(const Panel& p, std::int64_t j0, std::int64_t j1, const F (&shrink)[N]) {
  const std::int64_t e = p.job.head_size;
  const float* values = p.block(p.values, j0, j1);
  for_tiles<kTileRows>(0, e, [&]<int M>(std::int64_t i) {
    F acc[M][N];
    MPLUS_UNROLL for (int m = 0; m < M; ++m) {
      MPLUS_UNROLL for (int n = 0; n < N; ++n) {
        acc[m][n] = load(p.out + (i + m) * kPanel + n * kLanes) * shrink[n];
      }
    }
    tile_of_columns(acc, values + i, e, p.scores, kPanel, j1 - j0);
    store_tile(p.out + i * kPanel, kPanel, acc);
  });
}

template <int N>
void attend_lanes(Panel& p) {
  const std::int64_t end = p.visible(p.count - 1);
  for (int n = 0; n < N; ++n) {
    p.maxima[n] = splat(-__builtin_inff());
    p.sums[n] = F{};
  }
  for (std::int64_t j0 = 0; j0 < end; j0 += kKeys) {
    const std::int64_t j1 = min_of(j0 + kKeys, end);
    F shrink[N];
    score_keys_block<N>(p, j0, j1);
    soften<N>(p, j0, j1, shrink);
    add_values<N>(p, j0, j1, shrink);
  }
  for (std::int64_t lane = 0; lane < p.count; ++lane) {
    float* out = p.job.out + p.offset(lane);
    const float total = p.sums[lane / kLanes][lane % kLanes];
    for (std::int64_t i = 0; i < p.job.head_size; ++i) out[i] = p.out[i * kPanel + lane] / total;
  }
}

}  // namespace

std::size_t attend_panel_scratch(std::int64_t head_size) {
  return static_cast<std::size_t>((2 * head_size + kKeys) * kPanel + kKeys * head_size) * sizeof(float);
}

void attend_panel(const AttendJob& job, std::int64_t group, std::int64_t panel, std::byte* scratch) {
  const std::int64_t e = job.head_size;
  const std::int64_t first = group * job.capacity * e * (job.cache == DType::f32 ? 4 : 2);
  float* memory = reinterpret_cast<float*>(scratch);
  Panel p{{job, group, panel, kPanel},
          static_cast<const std::byte*>(job.keys) + first,
          static_cast<const std::byte*>(job.values) + first,
          memory,
          memory + 2 * e * kPanel,
          memory + e * kPanel,
          memory + (2 * e + kKeys) * kPanel,
          {},
          {},
          {}};
  load_queries(p);
  if (p.count <= kLanes) return attend_lanes<1>(p);
  if (p.count <= 2 * kLanes) return attend_lanes<2>(p);
  attend_lanes<3>(p);
}

}  // namespace mplus::kernels::MPLUS_ISA
