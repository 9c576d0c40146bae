// Attention of one query over one chunk of cache rows, lanes along the head: the path of decoding, limited by
// how fast keys and values arrive. All heads of the group use a row while it is in the cache.
#include "mplus/kernels/cpu/kernels.h"
#include "mplus/kernels/cpu/simd/math.h"

namespace mplus::kernels::MPLUS_ISA {
namespace {

constexpr int kVectors = 4;  // of a value row, in registers at once
// Vectors of 16 bytes: sixteen of them for one head after another, so that whole rows follow each other from
// memory; with four, lines of a row are asked for apart, which takes twice as long.
constexpr int kWideVectors = kLanes == 4 ? 16 : 0;
constexpr std::int64_t kMixRows = 16;
constexpr std::int64_t kScoreStep = kDecodeChunk + kLanes;  // floats from a head's scores to the next

// Sums of the products of R heads with N keys, lane by lane; both are e floats apart.
template <int R, int N, class Element>
MPLUS_INLINE void row_products(F (&acc)[R][N], const float* q, const Element* keys, std::int64_t e) {
  const auto add = [&](const auto& vector_at) {
    F key[N];
    MPLUS_UNROLL for (int n = 0; n < N; ++n) key[n] = vector_at(keys + n * e);
    MPLUS_UNROLL for (int r = 0; r < R; ++r) {
      const F head = vector_at(q + r * e);
      MPLUS_UNROLL for (int n = 0; n < N; ++n) acc[r][n] = fma(head, key[n], acc[r][n]);
    }
  };
  std::int64_t i = 0;
  for (; i + kLanes <= e; i += kLanes) add([i](const auto* row) { return load(row + i); });
  if (i < e) add([i, e](const auto* row) { return load_partial(row + i, e - i); });
}

// Four keys at a time, R heads while they are at hand: scores[r * kScoreStep + j].
template <int R, class Element>
void score_rows(float* scores, const float* q, const Element* keys, std::int64_t n, std::int64_t e,
                float scale) {
  std::int64_t j = 0;
  for (; j + 4 <= n; j += 4) {
    const Element* k = keys + j * e;
    prefetch_rows(k, 4 * e);
    F acc[R][4] = {};
    row_products(acc, q, k, e);
    MPLUS_UNROLL for (int r = 0; r < R; ++r) {
      const F4 four = sum4(acc[r][0], acc[r][1], acc[r][2], acc[r][3]);
      store_bits(scores + r * kScoreStep + j, static_cast<F4>(four * scale));
    }
  }
  for (; j < n; ++j) {
    F acc[R][1] = {};
    row_products(acc, q, keys + j * e, e);
    for (int r = 0; r < R; ++r) scores[r * kScoreStep + j] = sum4(acc[r][0], F{}, F{}, F{})[0] * scale;
  }
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

// Rows of values on their way into heads' results: out[r] += Σ_j weights[r][j] * values[j].
template <class Element>
struct Mixing {
  float* out;
  std::int64_t out_step;  // floats from a head's to the next
  const float* weights;
  const Element* values;
  std::int64_t n, e;

  MPLUS_INLINE Mixing head(int r) const {
    return {out + r * out_step, out_step, weights + r * kScoreStep, values, n, e};
  }
};

// V vectors of R heads from column i on; of the last `partial` lanes count, if that is not 0.
template <int R, int V, class Element>
MPLUS_INLINE void mix(const Mixing<Element>& of, std::int64_t i, std::int64_t partial = 0) {
  float* out = of.out + i;
  F acc[R][V];
  MPLUS_UNROLL for (int r = 0; r < R; ++r) {
    MPLUS_UNROLL for (int v = 0; v < V; ++v) {
      const float* from = out + r * of.out_step + v * kLanes;
      acc[r][v] = v == V - 1 && partial != 0 ? load_partial(from, partial) : load(from);
    }
  }
  for (std::int64_t j = 0; j < of.n; ++j) {
    const Element* row = of.values + j * of.e + i;
    F value[V];
    MPLUS_UNROLL for (int v = 0; v < V; ++v) {
      value[v] =
          v == V - 1 && partial != 0 ? load_partial(row + v * kLanes, partial) : load(row + v * kLanes);
    }
    MPLUS_UNROLL for (int r = 0; r < R; ++r) {
      const F weight = splat(of.weights[r * kScoreStep + j]);
      MPLUS_UNROLL for (int v = 0; v < V; ++v) acc[r][v] = fma(weight, value[v], acc[r][v]);
    }
  }
  MPLUS_UNROLL for (int r = 0; r < R; ++r) {
    MPLUS_UNROLL for (int v = 0; v < V; ++v) {
      float* to = out + r * of.out_step + v * kLanes;
      v == V - 1 && partial != 0 ? store_partial(to, acc[r][v], partial) : store(to, acc[r][v]);
    }
  }
}

// A few rows at a time, so that the parts of a row follow each other while it is at hand.
template <int R, class Element>
void mix_values(float* out, std::int64_t out_step, const float* weights, const Element* values,
                std::int64_t n, std::int64_t e) {
  for (int r = 0; r < R; ++r)
    for (std::int64_t i = 0; i < e; ++i) out[r * out_step + i] = 0.0f;
  for (std::int64_t j = 0; j < n; j += kMixRows) {
    const std::int64_t count = min_of(kMixRows, n - j);
    const Mixing<Element> rows{out, out_step, weights + j, values + j * e, count, e};
    prefetch_rows(rows.values, count * e);
    std::int64_t i = 0;
    if constexpr (kWideVectors > 0)
      for (; i + kWideVectors * kLanes <= e; i += kWideVectors * kLanes)
        MPLUS_UNROLL for (int r = 0; r < R; ++r) { mix<1, kWideVectors>(rows.head(r), i); }
    for (; i + kVectors * kLanes <= e; i += kVectors * kLanes) mix<R, kVectors>(rows, i);
    for (; i < e; i += kLanes) mix<R, 1>(rows, i, e - i < kLanes ? e - i : 0);
  }
}

template <class Element>
void attend(const AttendJob& job, std::int64_t t, std::int64_t group, std::int64_t chunk, float* partial,
            std::byte* scratch) {
  const std::int64_t e = job.head_size, sharing = job.heads / job.groups, step = e + 2;
  const std::int64_t seen = job.rows - job.T + 1 + t;
  const std::int64_t j0 = chunk * kDecodeChunk;
  const std::int64_t n = min_of(kDecodeChunk, seen - j0);
  const std::int64_t at = (group * job.capacity + j0) * e;
  const auto *keys = static_cast<const Element*>(job.keys) + at,
             *values = static_cast<const Element*>(job.values) + at;
  float* scores = reinterpret_cast<float*>(scratch);
  const float* q = job.q + (t * job.heads + group * sharing) * e;
  const auto heads = [&]<int R>(std::int64_t r) {
    float* weights = scores + r * kScoreStep;
    score_rows<R>(weights, q + r * e, keys, n, e, job.scale);
    for (std::int64_t i = 0; i < R; ++i)
      soften(weights + i * kScoreStep, n, partial[(r + i) * step + e], partial[(r + i) * step + e + 1]);
    mix_values<R>(partial + r * step, step, weights, values, n, e);
  };
  std::int64_t r = 0;
  for (; r + 3 <= sharing; r += 3) heads.template operator()<3>(r);
  for (; r < sharing; ++r) heads.template operator()<1>(r);
}

}  // namespace

std::size_t attend_chunk_scratch(std::int64_t sharing) {
  return static_cast<std::size_t>(sharing * kScoreStep) * sizeof(float);
}

void attend_chunk(const AttendJob& job, std::int64_t t, std::int64_t group, std::int64_t chunk,
                  float* partial, std::byte* scratch) {
#if defined(MPLUS_HALF_CACHES)
  if (job.cache == DType::f16) return attend<Half>(job, t, group, chunk, partial, scratch);
#endif
  attend<float>(job, t, group, chunk, partial, scratch);
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
