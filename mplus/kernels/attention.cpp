#include "mplus/kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>

#include "mplus/core/error.h"
#include "mplus/kernels/check.h"
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

// One query over one cache, cut into chunks of rows for each group.
struct Single {
  AttendJob job;
  std::int64_t t = 0;
  std::int64_t chunks = 0;
  std::int64_t first = 0;  // of its groups * chunks pieces among those of all
};

std::int64_t single_queries(std::span<const AttendItem> items) {
  std::int64_t n = 0;
  for (const AttendItem& item : items) n += item.T <= kSingleQueries ? item.T : 0;
  return n;
}

// Fills singles and returns how many pieces they have.
std::int64_t list_singles(std::span<Single> singles, std::span<const AttendItem> items,
                          const KvShape& shape) {
  std::int64_t pieces = 0;
  std::size_t n = 0;
  for (const AttendItem& item : items) {
    const AttendJob job = make_job(item.out, item.q, item.T, item.cache, shape);
    for (std::int64_t t = 0; t < job.T && job.T <= kSingleQueries; ++t) {
      const std::int64_t seen = job.rows - job.T + 1 + t;
      const std::int64_t chunks = (seen + kDecodeChunk - 1) / kDecodeChunk;
      singles[n++] = {.job = job, .t = t, .chunks = chunks, .first = pieces};
      pieces += job.groups * chunks;
    }
  }
  return pieces;
}

void attend_singles(Queue& queue, std::span<const AttendItem> items, const KvShape& shape) {
  const auto count = static_cast<std::size_t>(single_queries(items));
  if (count == 0) return;
  const Table& isa = table();
  const std::int64_t sharing = shape.heads / shape.groups, step = sharing * (shape.head_size + 2);
  std::int64_t pieces = 0;  // at most: no query sees more than its cache
  for (const AttendItem& item : items)
    pieces += item.T <= kSingleQueries
                  ? item.T * shape.groups * ((item.cache.rows + kDecodeChunk - 1) / kDecodeChunk)
                  : 0;
  std::byte* memory =
      queue.shared_scratch(count * sizeof(Single) + static_cast<std::size_t>(pieces * step) * sizeof(float));
  const std::span singles(new (memory) Single[count], count);
  auto* partials = reinterpret_cast<float*>(memory + count * sizeof(Single));
  pieces = list_singles(singles, items, shape);
  const std::size_t scratch_size = isa.attend_chunk_scratch(sharing);
  for (int worker = 0; worker < queue.pool().size(); ++worker) queue.scratch(worker, scratch_size);
  const std::int64_t work = pieces * kDecodeChunk * sharing * shape.head_size / 4;
  parallel(queue, pieces, work, [&](std::int64_t piece, int worker) {
    const auto after = std::ranges::upper_bound(singles, piece, {}, &Single::first);
    const Single& s = *(after - 1);
    isa.attend_chunk(s.job, s.t, (piece - s.first) / s.chunks, (piece - s.first) % s.chunks,
                     partials + piece * step, queue.scratch(worker, scratch_size));
  });
  parallel(queue, std::ssize(singles) * shape.groups, pieces * step, [&](std::int64_t item, int) {
    const Single& s = singles[static_cast<std::size_t>(item / shape.groups)];
    const std::int64_t group = item % shape.groups;
    isa.attend_merge(s.job, s.t, group, partials + (s.first + group * s.chunks) * step, s.chunks);
  });
}

void attend_many(Queue& queue, const AttendJob& job) {
  const Table& isa = table();
  const std::int64_t pairs = job.T * (job.heads / job.groups);
  const std::int64_t panels = (pairs + isa.panel - 1) / isa.panel;
  const std::size_t scratch_size = isa.attend_panel_scratch(job.head_size);
  for (int worker = 0; worker < queue.pool().size(); ++worker) queue.scratch(worker, scratch_size);
  const std::int64_t work = job.T * job.rows * job.heads * job.head_size / 8;
  // Later panels see more keys: the longest go first, so that no thread ends with one of them.
  parallel(queue, panels * job.groups, work, [&](std::int64_t item, int worker) {
    isa.attend_panel(job, item % job.groups, panels - 1 - item / job.groups,
                     queue.scratch(worker, scratch_size));
  });
}

}  // namespace

void attend(Queue& queue, Tensor out, ConstTensor q, const KvCache& cache, const KvShape& shape) {
  check_floats(queue, {out, q});
  check_matrix(q, shape.heads * shape.head_size);
  check_same_shape(out, q);
  attend(queue, out.on_host<float>(), q.on_host<float>(), q.size(0), cache, shape);
}

void attention_weights(Queue& queue, Tensor out, ConstTensor q, const KvCache& cache, const KvShape& shape) {
  check_floats(queue, {out, q});
  check_matrix(q, shape.heads * shape.head_size);
  MPLUS_CHECK(out.dimensions == 3 && out.size(0) == shape.heads && out.size(1) == q.size(0) &&
                  out.size(2) == cache.rows,
              "weights [{}, {}, {}]", out.size(0), out.size(1), out.size(2));
  attention_weights(queue, out.on_host<float>(), q.on_host<float>(), q.size(0), cache, shape);
}

void attend(Queue& queue, float* out, const float* q, std::int64_t T, const KvCache& cache,
            const KvShape& shape) {
  const AttendItem item{.out = out, .q = q, .T = T, .cache = cache};
  attend(queue, {&item, 1}, shape);
}

void attend(Queue& queue, std::span<const AttendItem> items, const KvShape& shape) {
  for (const AttendItem& item : items) {
    const AttendJob job = make_job(item.out, item.q, item.T, item.cache, shape);
    if (item.T > kSingleQueries) attend_many(queue, job);
  }
  attend_singles(queue, items, shape);
}

void attention_weights(Queue& queue, float* out, const float* q, std::int64_t T, const KvCache& cache,
                       const KvShape& shape) {
  const AttendJob job = make_job(out, q, T, cache, shape);
  const std::int64_t e = job.head_size;
  parallel(queue, job.heads * T, job.heads * T * job.rows * e, [&](std::int64_t item, int) {
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
