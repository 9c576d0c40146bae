// Attention of one query over one chunk of cache rows, lanes along the head: the path of decoding, limited by
// how fast keys and values arrive. All heads of the group use a row while it is in the cache.
#include "mplus/kernels/cpu/kernels.h"
#include "mplus/kernels/cpu/math.h"

namespace mplus::kernels::MPLUS_ISA {
namespace {

constexpr int kVectors = 4;                                 // of a value row, in registers at once
constexpr std::int64_t kScoreStep = kDecodeChunk + kLanes;  // floats from a head's scores to the next

MPLUS_INLINE F row_products(const float* a, const float* b, std::int64_t e) {
  F acc{};
  std::int64_t i = 0;
  for (; i + kLanes <= e; i += kLanes) acc = fma(load(a + i), load(b + i), acc);
  if (i < e) acc = fma(load_partial(a + i, e - i), load_partial(b + i, e - i), acc);
  return acc;
}

// Four keys at a time, all heads while they are at hand: scores[r * kScoreStep + j].
void score_rows(float* scores, const float* q, std::int64_t sharing, const float* keys, std::int64_t n,
                std::int64_t e, float scale) {
  std::int64_t j = 0;
  for (; j + 4 <= n; j += 4) {
    const float* k = keys + j * e;
    for (std::int64_t i = 0; i < 4 * e; i += 16) prefetch(k + i);
    for (std::int64_t r = 0; r < sharing; ++r) {
      const float* head = q + r * e;
      const F4 four = sum4(row_products(head, k, e), row_products(head, k + e, e),
                           row_products(head, k + 2 * e, e), row_products(head, k + 3 * e, e));
      store_bits(scores + r * kScoreStep + j, static_cast<F4>(four * scale));
    }
  }
  for (; j < n; ++j)
    for (std::int64_t r = 0; r < sharing; ++r)
      scores[r * kScoreStep + j] = sum4(row_products(q + r * e, keys + j * e, e), F{}, F{}, F{})[0] * scale;
}

// Weights relative to the chunk's maximum; the scores are padded to whole vectors with -infinity.
void soften(float* scores, std::int64_t n, float& maximum, float& total) {
  std::int64_t padded = n;
  for (; padded % kLanes != 0; ++padded) scores[padded] = -__builtin_inff();
  F largest = load(scores);
  for (std::int64_t j = kLanes; j < padded; j += kLanes) largest = max(largest, load(scores + j));
  maximum = max_lane(largest);
  F sums{};
  for (std::int64_t j = 0; j < padded; j += kLanes) {
    const F weight = exp(load(scores + j) - maximum);
    store(scores + j, weight);
    sums = sums + weight;
  }
  total = sum(sums);
}

// out[r][i…] = Σ_j weights[r][j] * values[j][i…] for R heads and V vectors; the last may be partial.
template <int R, int V>
MPLUS_INLINE void mix(float* out, std::int64_t out_step, const float* weights, const float* values,
                      std::int64_t n, std::int64_t e, std::int64_t partial) {
  F acc[R][V] = {};
  for (std::int64_t j = 0; j < n; ++j) {
    const float* row = values + j * e;
    MPLUS_UNROLL for (int i = 0; i < V * kLanes; i += 16) prefetch(row + i);
    F value[V];
    MPLUS_UNROLL for (int v = 0; v < V; ++v) {
      value[v] =
          v == V - 1 && partial != 0 ? load_partial(row + v * kLanes, partial) : load(row + v * kLanes);
    }
    MPLUS_UNROLL for (int r = 0; r < R; ++r) {
      const F weight = splat(weights[r * kScoreStep + j]);
      MPLUS_UNROLL for (int v = 0; v < V; ++v) acc[r][v] = fma(weight, value[v], acc[r][v]);
    }
  }
  MPLUS_UNROLL for (int r = 0; r < R; ++r) {
    MPLUS_UNROLL for (int v = 0; v < V; ++v) {
      float* to = out + r * out_step + v * kLanes;
      v == V - 1 && partial != 0 ? store_partial(to, acc[r][v], partial) : store(to, acc[r][v]);
    }
  }
}

template <int R>
void mix_values(float* out, std::int64_t out_step, const float* weights, const float* values, std::int64_t n,
                std::int64_t e) {
  std::int64_t i = 0;
  for (; i + kVectors * kLanes <= e; i += kVectors * kLanes)
    mix<R, kVectors>(out + i, out_step, weights, values + i, n, e, 0);
  for (; i < e; i += kLanes)
    mix<R, 1>(out + i, out_step, weights, values + i, n, e, e - i < kLanes ? e - i : 0);
}

}  // namespace

std::size_t attend_chunk_scratch(std::int64_t sharing) {
  return static_cast<std::size_t>(sharing * kScoreStep) * sizeof(float);
}

void attend_chunk(const AttendJob& job, std::int64_t t, std::int64_t group, std::int64_t chunk,
                  float* partial, std::byte* scratch) {
  const std::int64_t e = job.head_size, sharing = job.heads / job.groups, step = e + 2;
  const std::int64_t seen = job.rows - job.T + 1 + t;
  const std::int64_t j0 = chunk * kDecodeChunk;
  const std::int64_t n = min_of(kDecodeChunk, seen - j0);
  const std::int64_t at = (group * job.capacity + j0) * e;
  float* scores = reinterpret_cast<float*>(scratch);
  score_rows(scores, job.q + (t * job.heads + group * sharing) * e, sharing, job.keys + at, n, e, job.scale);
  for (std::int64_t r = 0; r < sharing; ++r)
    soften(scores + r * kScoreStep, n, partial[r * step + e], partial[r * step + e + 1]);
  std::int64_t r = 0;
  for (; r + 3 <= sharing; r += 3)
    mix_values<3>(partial + r * step, step, scores + r * kScoreStep, job.values + at, n, e);
  for (; r < sharing; ++r)
    mix_values<1>(partial + r * step, step, scores + r * kScoreStep, job.values + at, n, e);
}

// partials: [chunks, H/G, e + 2]; merged in the order of the chunks, whoever computed them.
void attend_merge(const AttendJob& job, std::int64_t t, std::int64_t group, const float* partials,
                  std::int64_t chunks) {
  const std::int64_t e = job.head_size, sharing = job.heads / job.groups, step = sharing * (e + 2);
  for (std::int64_t r = 0; r < sharing; ++r) {
    const float* part = partials + r * (e + 2);
    float* out = job.out + (t * job.heads + group * sharing + r) * e;
    float maximum = part[e];
    for (std::int64_t c = 1; c < chunks; ++c) maximum = max_of(maximum, part[c * step + e]);
    float total = 0.0f;
    for (std::int64_t i = 0; i < e; ++i) out[i] = 0.0f;
    for (std::int64_t c = 0; c < chunks; ++c) {
      const float* from = part + c * step;
      const float weight = exp(splat(from[e] - maximum))[0];
      total += weight * from[e + 1];
      for (std::int64_t i = 0; i < e; ++i) out[i] += weight * from[i];
    }
    for (std::int64_t i = 0; i < e; ++i) out[i] /= total;
  }
}

}  // namespace mplus::kernels::MPLUS_ISA
