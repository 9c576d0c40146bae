// A CUDA device as a backend. It holds nothing that changes; what does is in the queue's CudaQueueState.
#pragma once

#include "mplus/kernels/backend.h"
#include "mplus/kernels/cuda/device/device_memory.h"
#include "mplus/kernels/cuda/device/launch.h"
#include "mplus/kernels/cuda/device/queue_state.h"

namespace mplus::kernels::cuda {

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(const DeviceMemory& memory) : memory_(&memory) {}

  // backend.cpp
  Buffer allocate(std::size_t size_bytes) const override { return memory_->allocate(size_bytes); }
  Buffer allocate_host(std::size_t size_bytes) const override { return memory_->allocate_host(size_bytes); }
  std::size_t free_bytes() const override { return memory_->free_bytes(); }
  MemoryUse memory_use() const override { return memory_->memory_use(); }
  void bring(void* to, const ConstTensor& from) const override;
  DType weight_type(Numerics numerics, DType file) const override;
  bool packs_weights(Numerics numerics, const Matrix& m) const override;
  DType cache_type(Numerics numerics) const override;
  std::int64_t short_rows(Numerics numerics) const override;
  std::string numerics_id(Numerics numerics) const override;
  std::unique_ptr<QueueState> make_state() const override;
  void wait(Queue& queue) const override;
  void wait_aside(Queue& queue) const override;
  void copy(Queue& queue, Tensor out, ConstTensor in) const override;
  void copy_all(Queue& queue, std::span<const RowCopy> copies) const override;
  void copy_aside(Queue& queue, Tensor out, ConstTensor in) const override;
  void fill(Queue& queue, Tensor out, float value) const override;
  void scatter_rows(Queue& queue, std::span<const RowScatter> jobs) const override;
  void note_finite(Queue& queue, std::span<const Note> notes) const override;
  std::int32_t take_note(Queue& queue) const override;
  std::unique_ptr<Mark> mark(Queue& queue) const override;
  void choose(Queue& queue, Tensor out, Tensor logits, std::span<const Choice> choices) const override;
  void embed(Queue& queue, Tensor out, const Matrix& table, std::span<const std::int32_t> ids) const override;
  void rms_norm(Queue& queue, Tensor out, ConstTensor x, ConstTensor weight, float epsilon,
                std::optional<DType> read_as) const override;
  void swiglu(Queue& queue, Tensor out, ConstTensor gate, ConstTensor up) const override;
  void silu(Queue& queue, Tensor x) const override;
  void add_row(Queue& queue, Tensor x, ConstTensor row) const override;
  void pooling_shares(Queue& queue, Tensor shares, ConstTensor x, ConstTensor vector) const override;
  void rope(Queue& queue, Tensor x, const RopeTable& angles, std::int64_t first_position) const override;
  // linear.cpp
  void linear(Queue& queue, ConstTensor x, std::span<const LinearOutput> outputs) const override;
  void linear_adapted(Queue& queue, ConstTensor x, std::span<const AdaptedOutput> outputs,
                      kernels::Rows rows) const override;
  void linear_adapted_all(Queue& queue, std::span<const AdaptedProducts> all,
                          kernels::Rows rows) const override;
  void swiglu_adapted(Queue& queue, ConstTensor x, const AdaptedOutput& gate, const AdaptedOutput& up,
                      kernels::Rows rows, ResultUse use) const override;
  // attention.cpp
  void append_rows(Queue& queue, const KvCache& cache, const KvShape& shape, const RowBlock& rows,
                   const RopeTable& angles) const override;
  void gather_rows(Queue& queue, const KvCache& cache, const KvShape& shape, const RowGather& rows,
                   const RopeTable& angles) const override;
  void gather_rows(Queue& queue, const KvCache& cache, const KvShape& shape, const NumberedRows& rows,
                   const RopeTable& angles) const override;
  void append_tokens(Queue& queue, std::span<const TokenRows> sessions, const KvShape& shape,
                     const RopeTable& angles, std::int32_t first_note) const override;
  void attend(Queue& queue, std::span<const kernels::AttendItem> items, const KvShape& shape) const override;
  void attention_weights(Queue& queue, const kernels::AttendItem& item, const KvShape& shape) const override;
  // retrieval.cpp
  void retrieval_scores(Queue& queue, std::span<const QueryKeys> layers) const override;
  void gathered_scores(Queue& queue, Tensor scores, ConstTensor q, const KeyGather& keys) const override;
  void chunk_sums(Queue& queue, std::span<const ChunkSums> layers, const ChunkRule& rule) const override;
  void best_scores(Queue& queue, const BestScores& out, ConstTensor scores,
                   std::int64_t wanted) const override;

 private:
  const DeviceMemory* memory_;
};

// The queue's state, its device chosen for the calling thread. state_for_products(): for operations that
// leave operands as they are.
CudaQueueState& state_of(Queue& queue);
CudaQueueState& state_for_products(Queue& queue);

inline float* floats(const Tensor& x) { return static_cast<float*>(x.data); }
inline const float* floats(const ConstTensor& x) { return static_cast<const float*>(x.data); }
inline bool on_device(const ConstTensor& x) { return !x.device.is_cpu(); }

}  // namespace mplus::kernels::cuda
