#include "mplus/kernels/retrieval.h"

#include "mplus/core/error.h"
#include "mplus/kernels/cuda/backend.h"
#include "mplus/kernels/cuda/check.h"

namespace mplus::kernels::cuda {
namespace {

// Everything but keys and scores; the queries are made ready for keys of this type.
Retrieval prepare(Queue& queue, CudaQueueState& state, const ConstTensor& q, DType dtype) {
  Retrieval job;
  job.q = floats(q);
  job.T = q.size(0);
  job.width = q.size(1);
  job.dtype = dtype;
  job.exact = queue.numerics() == Numerics::exact;
  job.packed = state.scratch(Scratch::queries, packed_queries_bytes(job.T, job.width));
  pack_queries(state.stream(), job);
  return job;
}

}  // namespace

void CudaBackend::retrieval_scores(Queue& queue, std::span<const KeyBlock> blocks, ConstTensor q) const {
  if (blocks.empty() || q.size(0) == 0) return;
  CudaQueueState& state = state_of(queue);
  Retrieval job = prepare(queue, state, q, blocks.front().keys.dtype);
  for (const KeyBlock& block : blocks) {
    job.keys = block.keys.data;
    job.scores = floats(block.scores);
    job.n = block.keys.size(0);
    cuda::retrieval_scores(state.stream(), job);
  }
  check_launch("scoring keys");
}

void CudaBackend::gathered_scores(Queue& queue, Tensor scores, ConstTensor q, const KeyGather& keys) const {
  const std::size_t n = keys.places.size();
  if (n == 0) return;
  CudaQueueState& state = state_of(queue);
  const ConstTensor& first = keys.blocks[keys.places.front().block];
  const std::size_t size_bytes = row_bytes(first.dtype, first.size(1));
  MPLUS_CHECK(size_bytes % 2 == 0, "keys of {} bytes", size_bytes);
  auto* there = static_cast<const void**>(state.scratch(Scratch::places, n * sizeof(void*)));
  auto* staged = reinterpret_cast<const void**>(state.stage(n * sizeof(void*)));
  for (std::size_t i = 0; i < n; ++i) {
    const ConstTensor& block = keys.blocks[keys.places[i].block];
    staged[i] = static_cast<const std::byte*>(block.data) +
                row_bytes(block.dtype, block.stride(0)) * static_cast<std::size_t>(keys.places[i].row);
  }
  state.send(there, reinterpret_cast<const std::byte*>(staged), n * sizeof(void*));
  Retrieval job = prepare(queue, state, q, first.dtype);
  void* gathered = state.scratch(Scratch::keys, n * size_bytes);
  gather_bytes(state.stream(), gathered, there, static_cast<std::int64_t>(n),
               static_cast<std::int64_t>(size_bytes));
  job.keys = gathered;
  job.scores = floats(scores);
  job.n = static_cast<std::int64_t>(n);
  cuda::retrieval_scores(state.stream(), job);
  check_launch("scoring keys");
}

}  // namespace mplus::kernels::cuda
