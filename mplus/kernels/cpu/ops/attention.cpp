#include <algorithm>
#include <cmath>
#include <limits>
#include <new>

#include "mplus/kernels/cpu/ops/operations.h"
#include "mplus/kernels/isa.h"
#include "mplus/kernels/parallel.h"

namespace mplus::kernels::cpu {
namespace {

// So few queries fill no panel's lanes: they are taken one by one, cut along the cache.
constexpr std::int64_t kSingleQueries = 3;
constexpr std::int64_t kRunsOfThread = 8;

AttendJob make_job(const AttendItem& item, const KvShape& shape) {
  const KvCache& cache = item.cache;
  return {.out = item.out.on_host<float>(),
          .q = item.q.on_host<float>(),
          .keys = cache.keys.data,
          .values = cache.values.data,
          .cache = cache.keys.dtype,
          .T = item.q.size(0),
          .rows = cache.rows,
          .capacity = cache.keys.stride(0) / shape.head_size,
          .heads = shape.heads,
          .groups = shape.groups,
          .head_size = shape.head_size,
          .scale = 1.0f / std::sqrt(static_cast<float>(shape.head_size))};
}

std::int64_t queries_alone(const AttendItem& item) {
  return item.q.size(0) <= kSingleQueries ? item.q.size(0) : 0;
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
  for (const AttendItem& item : items) n += queries_alone(item);
  return n;
}

// Fills singles and returns how many pieces they have.
std::int64_t list_singles(std::span<Single> singles, std::span<const AttendItem> items,
                          const KvShape& shape) {
  std::int64_t pieces = 0;
  std::size_t n = 0;
  for (const AttendItem& item : items) {
    const AttendJob job = make_job(item, shape);
    for (std::int64_t t = 0; t < queries_alone(item); ++t) {
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
    pieces += queries_alone(item) * shape.groups * ((item.cache.rows + kDecodeChunk - 1) / kDecodeChunk);
  std::byte* memory =
      queue.shared_scratch(count * sizeof(Single) + static_cast<std::size_t>(pieces * step) * sizeof(float));
  const std::span singles(new (memory) Single[count], count);
  auto* partials = reinterpret_cast<float*>(memory + count * sizeof(Single));
  pieces = list_singles(singles, items, shape);
  const std::size_t scratch_size = isa.attend_chunk_scratch(sharing);
  for (int worker = 0; worker < queue.pool().size(); ++worker) queue.scratch(worker, scratch_size);
  const std::int64_t work = pieces * kDecodeChunk * sharing * shape.head_size / 4;
  // Chunks that follow each other in a cache: what is asked for ahead is what comes next.
  const std::int64_t run = std::max<std::int64_t>(1, pieces / (kRunsOfThread * queue.pool().size()));
  parallel(queue, (pieces + run - 1) / run, work, [&](std::int64_t item, int worker) {
    for (std::int64_t piece = item * run; piece < std::min(pieces, (item + 1) * run); ++piece) {
      const auto after = std::ranges::upper_bound(singles, piece, {}, &Single::first);
      const Single& s = *(after - 1);
      isa.attend_chunk(s.job, s.t, (piece - s.first) / s.chunks, (piece - s.first) % s.chunks,
                       partials + piece * step, queue.scratch(worker, scratch_size));
    }
  });
  parallel(queue, std::ssize(singles) * shape.groups, pieces * step, [&](std::int64_t item, int) {
    const Single& s = singles[static_cast<std::size_t>(item / shape.groups)];
    const std::int64_t group = item % shape.groups;
    isa.attend_merge(s.job, s.t, group, partials + (s.first + group * s.chunks) * step, s.chunks);
  });
}

// The longest panels go first, so that no thread ends with one of them: later ones see more keys.
template <class Panel>
void attend_panels(Queue& queue, const AttendJob& job, std::int64_t lanes, std::size_t scratch_size,
                   const Panel& attend_panel) {
  const std::int64_t pairs = job.T * (job.heads / job.groups);
  const std::int64_t panels = (pairs + lanes - 1) / lanes;
  for (int worker = 0; worker < queue.pool().size(); ++worker) queue.scratch(worker, scratch_size);
  const std::int64_t work = job.T * job.rows * job.heads * job.head_size / 8;
  parallel(queue, panels * job.groups, work, [&](std::int64_t item, int worker) {
    attend_panel(job, item % job.groups, panels - 1 - item / job.groups, queue.scratch(worker, scratch_size));
  });
}

void attend_many(Queue& queue, AttendJob job) {
  const Table& isa = table();
  const std::size_t tiles = isa.tiled.bytes != nullptr ? isa.tiled.bytes(job) : 0;
  if (tiles == 0)
    return attend_panels(queue, job, isa.panel, isa.attend_panel_scratch(job.head_size), isa.attend_panel);
  job.tiles = queue.shared_scratch(tiles);
  const std::int64_t blocks = (job.rows + isa.tiled.block_rows - 1) / isa.tiled.block_rows;
  parallel(queue, job.groups * blocks, job.groups * job.rows * job.head_size,
           [&](std::int64_t item, int) { isa.tiled.arrange(job, item / blocks, item % blocks); });
  attend_panels(queue, job, isa.tiled.lanes, isa.tiled.scratch(job.head_size), isa.tiled.attend);
}

}  // namespace

void attend(Queue& queue, std::span<const AttendItem> items, const KvShape& shape) {
  for (const AttendItem& item : items)
    if (item.q.size(0) > kSingleQueries) attend_many(queue, make_job(item, shape));
  attend_singles(queue, items, shape);
}

void attention_weights(Queue& queue, const AttendItem& item, const KvShape& shape) {
  const AttendJob job = make_job(item, shape);
  const std::int64_t e = job.head_size, T = job.T;
  const std::size_t key_bytes = row_bytes(job.cache, e);
  for (int worker = 0; worker < queue.pool().size(); ++worker)
    queue.scratch(worker, static_cast<std::size_t>(e) * sizeof(float));
  parallel(queue, job.heads * T, job.heads * T * job.rows * e, [&](std::int64_t row, int worker) {
    const std::int64_t h = row / T, t = row % T, seen = job.rows - T + 1 + t;
    const float* query = job.q + (t * job.heads + h) * e;
    const std::byte* keys = static_cast<const std::byte*>(job.keys) +
                            static_cast<std::size_t>(h / (job.heads / job.groups) * job.capacity) * key_bytes;
    auto* key = reinterpret_cast<float*>(queue.scratch(worker, static_cast<std::size_t>(e) * sizeof(float)));
    float* weights = job.out + row * job.rows;
    double maximum = -std::numeric_limits<double>::infinity(), total = 0.0;
    for (std::int64_t j = 0; j < seen; ++j) {
      double score = 0.0;
      table().to_f32(key, keys + static_cast<std::size_t>(j) * key_bytes, job.cache, e);
      for (std::int64_t i = 0; i < e; ++i)
        score += static_cast<double>(query[i]) * static_cast<double>(key[i]);
      weights[j] = static_cast<float>(score * static_cast<double>(job.scale));
      maximum = std::max(maximum, static_cast<double>(weights[j]));
    }
    for (std::int64_t j = 0; j < seen; ++j) total += std::exp(static_cast<double>(weights[j]) - maximum);
    for (std::int64_t j = 0; j < seen; ++j)
      weights[j] = static_cast<float>(std::exp(static_cast<double>(weights[j]) - maximum) / total);
    std::fill(weights + seen, weights + job.rows, 0.0f);
  });
}

}  // namespace mplus::kernels::cpu
