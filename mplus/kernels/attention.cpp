#include "mplus/kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "mplus/core/error.h"
#include "mplus/kernels/isa.h"
#include "mplus/kernels/parallel.h"

namespace mplus::kernels {
namespace {

// So few queries fill no panel's lanes: they are taken one by one, cut along the cache.
constexpr std::int64_t kSingleQueries = 3;

AttendJob make_job(float* out, const float* q, std::int64_t T, const KvCache& cache, const KvShape& shape) {
  MPLUS_CHECK(T >= 0 && cache.rows >= T && cache.rows <= cache.capacity, "{} queries, {} rows, capacity {}",
              T, cache.rows, cache.capacity);
  MPLUS_CHECK(shape.groups > 0 && shape.heads % shape.groups == 0 && shape.head_size > 0,
              "{} heads in {} groups of size {}", shape.heads, shape.groups, shape.head_size);
  MPLUS_CHECK(cache.rows < std::numeric_limits<std::int32_t>::max(), "{} rows", cache.rows);
  return {.out = out,
          .q = q,
          .keys = cache.keys,
          .values = cache.values,
          .T = T,
          .rows = cache.rows,
          .capacity = cache.capacity,
          .heads = shape.heads,
          .groups = shape.groups,
          .head_size = shape.head_size,
          .scale = 1.0f / std::sqrt(static_cast<float>(shape.head_size))};
}

void attend_single(Context& context, const AttendJob& job, std::int64_t t) {
  const Table& isa = table();
  const std::int64_t seen = job.rows - job.T + 1 + t;
  const std::int64_t chunks = (seen + kDecodeChunk - 1) / kDecodeChunk;
  const std::int64_t step = job.heads / job.groups * (job.head_size + 2);
  auto* partials = reinterpret_cast<float*>(
      context.shared_scratch(static_cast<std::size_t>(job.groups * chunks * step) * sizeof(float)));
  const std::size_t scratch_size = isa.attend_chunk_scratch(job.heads / job.groups);
  for (int worker = 0; worker < context.pool().size(); ++worker) context.scratch(worker, scratch_size);
  const std::int64_t work = seen * job.heads * job.head_size / 4;
  parallel(context, job.groups * chunks, work, [&](std::int64_t item, int worker) {
    isa.attend_chunk(job, t, item / chunks, item % chunks, partials + item * step,
                     context.scratch(worker, scratch_size));
  });
  for (std::int64_t g = 0; g < job.groups; ++g)
    isa.attend_merge(job, t, g, partials + g * chunks * step, chunks);
}

void attend_many(Context& context, const AttendJob& job) {
  const Table& isa = table();
  const std::int64_t pairs = job.T * (job.heads / job.groups);
  const std::int64_t panels = (pairs + isa.panel - 1) / isa.panel;
  const std::size_t scratch_size = isa.attend_panel_scratch(job.head_size);
  for (int worker = 0; worker < context.pool().size(); ++worker) context.scratch(worker, scratch_size);
  const std::int64_t work = job.T * job.rows * job.heads * job.head_size / 8;
  // Later panels see more keys: the longest go first, so that no thread ends with one of them.
  parallel(context, panels * job.groups, work, [&](std::int64_t item, int worker) {
    isa.attend_panel(job, item % job.groups, panels - 1 - item / job.groups,
                     context.scratch(worker, scratch_size));
  });
}

}  // namespace

void attend(Context& context, float* out, const float* q, std::int64_t T, const KvCache& cache,
            const KvShape& shape) {
  const AttendJob job = make_job(out, q, T, cache, shape);
  if (T > kSingleQueries) return attend_many(context, job);
  for (std::int64_t t = 0; t < T; ++t) attend_single(context, job, t);
}

void attention_weights(Context& context, float* out, const float* q, std::int64_t T, const KvCache& cache,
                       const KvShape& shape) {
  const AttendJob job = make_job(out, q, T, cache, shape);
  const std::int64_t e = job.head_size;
  parallel(context, job.heads * T, job.heads * T * job.rows * e, [&](std::int64_t item, int) {
    const std::int64_t h = item / T, t = item % T, seen = job.rows - T + 1 + t;
    const float* query = q + (t * job.heads + h) * e;
    const float* keys = job.keys + h / (job.heads / job.groups) * job.capacity * e;
    float* weights = out + item * job.rows;
    double maximum = -std::numeric_limits<double>::infinity(), total = 0.0;
    for (std::int64_t j = 0; j < seen; ++j) {
      double score = 0.0;
      for (std::int64_t i = 0; i < e; ++i)
        score += static_cast<double>(query[i]) * static_cast<double>(keys[j * e + i]);
      weights[j] = static_cast<float>(score * static_cast<double>(job.scale));
      maximum = std::max(maximum, static_cast<double>(weights[j]));
    }
    for (std::int64_t j = 0; j < seen; ++j) total += std::exp(static_cast<double>(weights[j]) - maximum);
    for (std::int64_t j = 0; j < seen; ++j)
      weights[j] = static_cast<float>(std::exp(static_cast<double>(weights[j]) - maximum) / total);
    std::fill(weights + seen, weights + job.rows, 0.0f);
  });
}

}  // namespace mplus::kernels
