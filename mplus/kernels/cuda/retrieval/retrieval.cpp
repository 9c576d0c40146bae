#include "mplus/kernels/retrieval/retrieval.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "mplus/core/error.h"
#include "mplus/kernels/cuda/backend.h"
#include "mplus/kernels/cuda/device/check.h"
#include "mplus/kernels/retrieval/best_scores.h"
#include "mplus/kernels/retrieval/chunk_sums.h"

namespace mplus::kernels::cuda {
namespace {

constexpr std::int64_t kPartKeys = 4096;  // of one part, so that parts are about equal

// A list on the device, in a piece of scratch memory that nobody else uses meanwhile.
template <class T>
const T* send(Queue& queue, CudaQueueState& state, Scratch purpose, const std::vector<T>& list) {
  const std::size_t size_bytes = list.size() * sizeof(T);
  void* there = state.scratch(purpose, std::max<std::size_t>(1, size_bytes));
  state.upload(queue.pool(), there, list.data(), size_bytes);
  return static_cast<const T*>(there);
}

// Everything but keys and scores; the queries, of which there is at least one, are made ready for keys of
// this type.
Retrieval prepare(Queue& queue, CudaQueueState& state, const std::vector<const float*>& q,
                  const ConstTensor& like, DType dtype) {
  Retrieval job;
  job.layers = std::ssize(q);
  job.T = like.size(0);
  job.width = like.size(1);
  job.dtype = dtype;
  job.exact = queue.numerics() == Numerics::exact;
  job.q = send(queue, state, Scratch::rows, q);
  job.packed = state.scratch(Scratch::queries, packed_queries_bytes(job.layers, job.T, job.width));
  pack_queries(state.stream(), job);
  return job;
}

void add_parts(std::vector<KeyPart>& parts, const KeyBlock& block, std::int32_t layer) {
  const std::int64_t n = block.keys.size(0);
  for (std::int64_t at = 0; at < n; at += kPartKeys) {
    const std::int64_t count = std::min(kPartKeys, n - at);
    parts.push_back({static_cast<const std::byte*>(block.keys.data) +
                         row_bytes(block.keys.dtype, block.keys.stride(0)) * static_cast<std::size_t>(at),
                     floats(block.scores) + at, static_cast<std::int32_t>(count), layer});
  }
}

void score(Queue& queue, CudaQueueState& state, Retrieval job, const std::vector<KeyPart>& parts) {
  for (const KeyPart& part : parts) job.most = std::max<std::int64_t>(job.most, part.n);
  job.parts = send(queue, state, Scratch::places, parts);
  job.count = std::ssize(parts);
  cuda::retrieval_scores(state.stream(), job);
  check_launch("scoring keys");
}

}  // namespace

void CudaBackend::retrieval_scores(Queue& queue, std::span<const QueryKeys> layers) const {
  CudaQueueState& state = state_of(queue);
  std::vector<const float*> q;
  std::vector<KeyPart> parts;
  DType dtype = DType::f32;
  for (const QueryKeys& layer : layers) {
    for (const KeyBlock& block : layer.blocks) {
      dtype = block.keys.dtype;
      add_parts(parts, block, static_cast<std::int32_t>(q.size()));
    }
    q.push_back(floats(layer.q));
  }
  if (parts.empty()) return;
  score(queue, state, prepare(queue, state, q, layers.front().q, dtype), parts);
}

void CudaBackend::gathered_scores(Queue& queue, Tensor scores, ConstTensor q, const KeyGather& keys) const {
  const std::size_t n = keys.places.size();
  if (n == 0) return;
  CudaQueueState& state = state_of(queue);
  const ConstTensor& first = keys.blocks[keys.places.front().block];
  const std::size_t size_bytes = row_bytes(first.dtype, first.size(1));
  MPLUS_CHECK(size_bytes % 2 == 0, "keys of {} bytes", size_bytes);
  std::vector<const void*> rows(n);
  for (std::size_t i = 0; i < n; ++i) {
    const ConstTensor& block = keys.blocks[keys.places[i].block];
    rows[i] = static_cast<const std::byte*>(block.data) +
              row_bytes(block.dtype, block.stride(0)) * static_cast<std::size_t>(keys.places[i].row);
  }
  void* gathered = state.scratch(Scratch::keys, n * size_bytes);
  gather_bytes(state.stream(), gathered, send(queue, state, Scratch::places, rows),
               static_cast<std::int64_t>(n), static_cast<std::int64_t>(size_bytes));
  const Retrieval job = prepare(queue, state, {floats(q)}, q, first.dtype);
  std::vector<KeyPart> parts;
  const ConstTensor together(gathered, first.dtype, {static_cast<std::int64_t>(n), first.size(1)},
                             first.device);
  add_parts(parts, {together, scores}, 0);
  score(queue, state, job, parts);
}

void CudaBackend::best_scores(Queue& queue, const BestScores& out, ConstTensor scores,
                              std::int64_t wanted) const {
  CudaQueueState& state = state_of(queue);
  cuda::best_scores(state.stream(), {.scores = floats(scores),
                                     .n = scores.elements(),
                                     .wanted = wanted,
                                     .places = static_cast<std::int32_t*>(out.places.data),
                                     .values = floats(out.values),
                                     .room = out.values.elements(),
                                     .count = static_cast<std::int64_t*>(out.count.data),
                                     .counters = state.counters(kBestCounters)});
  check_launch("looking for the best scores");
}

void CudaBackend::chunk_sums(Queue& queue, std::span<const ChunkSums> layers, const ChunkRule& rule) const {
  CudaQueueState& state = state_of(queue);
  ChunkReduction job;
  job.layers = std::ssize(layers);
  job.K = rule.K;
  job.chunks = rule.chunks;
  job.top = rule.top;
  std::vector<ScoredPart> parts;
  std::vector<ChunkTotals> totals;
  std::vector<std::int64_t> layer_begin;
  std::int64_t n = 0;
  for (const ChunkSums& layer : layers) {
    const auto number = static_cast<std::int32_t>(totals.size());
    layer_begin.push_back(n);
    totals.push_back(
        {static_cast<std::int64_t*>(layer.sums.data), static_cast<std::int64_t*>(layer.rows.data)});
    for (const ScorePart& part : layer.parts) {
      const std::int64_t count = part.scores.elements();
      if (count == 0) continue;
      parts.push_back({floats(part.scores), static_cast<const std::int64_t*>(part.births.data),
                       part.first_number, part.oldest_birth, part.oldest_number,
                       static_cast<std::int32_t>(count), number});
      job.most = std::max(job.most, count);
      n += count;
    }
  }
  job.parts = send(queue, state, Scratch::places, parts);
  job.count = std::ssize(parts);
  job.totals = send(queue, state, Scratch::rows, totals);
  if (rule.top > 0) {
    job.layer_begin = send(queue, state, Scratch::queries, layer_begin);
    job.grouped = static_cast<float*>(state.scratch(
        Scratch::partial, std::max<std::size_t>(1, static_cast<std::size_t>(n) * sizeof(float))));
    job.ends = static_cast<std::int64_t*>(state.scratch(
        Scratch::keys,
        std::max<std::size_t>(1, static_cast<std::size_t>(job.layers * job.chunks) * sizeof(std::int64_t))));
  }
  cuda::chunk_sums(state.stream(), job);
  check_launch("adding scores of chunks");
}

}  // namespace mplus::kernels::cuda
