// Attention of one query over one chunk of cache rows, lanes along the head: the path of decoding, limited by
// how fast keys and values arrive. All heads of the group use a row while it is in the cache.
#include "mplus/kernels/isa/kernels.h"
#include "mplus/kernels/isa/math.h"

namespace mplus::kernels::MPLUS_ISA {
namespace {

constexpr int kTogether = 4;  // independent chains

MPLUS_INLINE float dot(const float* a, const float* b, std::int64_t e) {
  F acc{};
  std::int64_t i = 0;
  for (; i + kLanes <= e; i += kLanes) acc = fma(load(a + i), load(b + i), acc);
  if (i < e) acc = fma(load_partial(a + i, e - i), load_partial(b + i, e - i), acc);
  return sum(acc);
}

void score_rows(float* scores, const float* q, const float* keys, std::int64_t n, std::int64_t e,
                float scale) {
  for (std::int64_t j = 0; j < n; ++j) scores[j] = dot(q, keys + j * e, e) * scale;
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

void mix_values(float* out, const float* weights, const float* values, std::int64_t n, std::int64_t e) {
  std::int64_t i = 0;
  for (; i + kTogether * kLanes <= e; i += kTogether * kLanes) {
    F acc[kTogether] = {};
    for (std::int64_t j = 0; j < n; ++j) {
      const F weight = splat(weights[j]);
      MPLUS_UNROLL for (int v = 0; v < kTogether; ++v) {
        acc[v] = fma(weight, load(values + j * e + i + v * kLanes), acc[v]);
      }
    }
    for (int v = 0; v < kTogether; ++v) store(out + i + v * kLanes, acc[v]);
  }
  for (; i < e; i += kLanes) {
    const std::int64_t valid = min_of<std::int64_t>(kLanes, e - i);
    F acc{};
    for (std::int64_t j = 0; j < n; ++j) {
      const float* at = values + j * e + i;
      acc = fma(splat(weights[j]), valid == kLanes ? load(at) : load_partial(at, valid), acc);
    }
    if (valid == kLanes) {
      store(out + i, acc);
    } else {
      store_partial(out + i, acc, valid);
    }
  }
}

}  // namespace

std::size_t attend_chunk_scratch() { return (kDecodeChunk + kLanes) * sizeof(float); }

void attend_chunk(const AttendJob& job, std::int64_t t, std::int64_t group, std::int64_t chunk,
                  float* partial, std::byte* scratch) {
  const std::int64_t e = job.head_size, sharing = job.heads / job.groups;
  const std::int64_t seen = job.rows - job.T + 1 + t;
  const std::int64_t j0 = chunk * kDecodeChunk;
  const std::int64_t n = min_of(kDecodeChunk, seen - j0);
  const float* keys = job.keys + (group * job.capacity + j0) * e;
  const float* values = job.values + (group * job.capacity + j0) * e;
  float* scores = reinterpret_cast<float*>(scratch);
  for (std::int64_t r = 0; r < sharing; ++r, partial += e + 2) {
    score_rows(scores, job.q + (t * job.heads + group * sharing + r) * e, keys, n, e, job.scale);
    soften(scores, n, partial[e], partial[e + 1]);
    mix_values(partial, scores, values, n, e);
  }
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
