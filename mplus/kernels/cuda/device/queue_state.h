// What a queue on a CUDA device keeps: scratch memory there, pinned memory on the way there and back,
// products' algorithms, and the note of what was not finite. One thread at a time.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "mplus/core/tensors/device_buffer.h"
#include "mplus/kernels/attention/kv.h"
#include "mplus/kernels/backend.h"
#include "mplus/kernels/cuda/device/device_memory.h"
#include "mplus/kernels/cuda/device/launch.h"
#include "mplus/kernels/cuda/linear/matmul.h"
#include "mplus/kernels/queue.h"

namespace mplus::kernels::cuda {

// What scratch memory is for; each purpose has a piece of its own, which a later call of the same purpose may
// use again, since the stream keeps their order.
enum class Scratch : std::uint8_t { operand, other_operand, partial, rows, places, queries, keys, weights };

struct MarkedNotes;  // of marks that somebody still waits for

class CudaQueueState final : public QueueState {
 public:
  explicit CudaQueueState(const DeviceMemory& memory);
  ~CudaQueueState() override;

  const DeviceMemory& memory() const { return *memory_; }
  cudaStream_t stream() const { return memory_->stream(); }
  Matmul& matmul() { return matmul_; }

  void* scratch(Scratch purpose, std::size_t size_bytes);

  // x[rows, width] as an operand of the matrix instruction: remembered from the operation that made x until
  // another one may have changed it. Two rooms take turns, so that an operation can read one operand and
  // leave the next.
  Rounded round_along(const ConstTensor& x);  // room for it, filled by the caller; none where it does not pay
  Rounded round_along(const ConstTensor& x, DType type);  // for products of that type
  const void* rounded(const float* x, std::int64_t rows, std::int64_t width, DType type);  // or nullptr
  void* room_to_round(std::int64_t elements, DType type);  // for another x; the remembered one is lost
  void note_only_rounded() { operand_.only = true; }       // of what was rounded along there is nothing else
  void forget_rounded() { operand_ = {}; }
  void forget_rounded(const float* begin, const float* end);  // if it is of what lies there

  // Host memory on its way to the device. stage() gives pinned room, at most kSlotBytes, to be filled and
  // sent before the next call; send() copies it to the device. upload() is both, for any size.
  static constexpr std::size_t kSlotBytes = std::size_t{8} << 20;
  std::byte* stage(std::size_t size_bytes);
  void send(void* to, const std::byte* staged, std::size_t size_bytes);
  void upload(ThreadPool& pool, void* to, const void* from, std::size_t size_bytes);
  // To host memory, where it is after wait(). Pinned memory is written directly.
  void download(void* to, const void* from, std::size_t size_bytes);
  // The same to pinned memory, beside what the stream is told to do after this.
  void download_aside(void* to, const void* from, std::size_t size_bytes);
  void wait();
  void wait_aside();  // for what was downloaded so

  // Rows on their way into caches: those from cache.rows on. Of what a cache has, settled_rows() were there
  // at the last wait(), so that nothing has to be waited for before they are read.
  void note_rows(const KvCache& cache);
  std::int64_t settled_rows(const KvCache& cache) const;

  std::uint32_t* counters(std::size_t n);  // zeros on the device, which every kernel leaves as zeros

  std::int32_t* note();      // on the device
  std::int32_t take_note();  // waits; −1: none
  std::unique_ptr<Mark> mark();

 private:
  struct Slot {
    Buffer memory;
    cudaEvent_t sent = nullptr;
    std::size_t filled = 0;
  };
  struct Landing {
    void* to;
    const std::byte* from;
    std::size_t size_bytes;
  };

  std::byte* land(std::size_t size_bytes);  // pinned room until wait()

  struct UnsettledRows {  // of one cache
    const std::byte *begin, *end;
    std::int64_t first;
  };
  struct Operand {
    const float* x = nullptr;
    std::int64_t elements = 0, width = 0;
    bool only = false;
  };

  const DeviceMemory* memory_;
  Matmul matmul_;
  Operand operand_;
  DType operand_type_ = DType::bf16;  // what products last asked for
  Scratch operand_room_ = Scratch::operand;
  std::array<Buffer, 8> scratch_;
  std::array<Slot, 4> slots_;
  std::size_t slot_ = 0;
  std::vector<Buffer> landings_;
  std::size_t landing_ = 0, landed_ = 0;  // which of landings_ is being filled, and how far
  std::vector<Landing> pending_;
  Buffer note_, counters_;
  cudaStream_t aside_ = nullptr;
  cudaEvent_t made_ = nullptr;  // what is copied aside
  std::vector<UnsettledRows> unsettled_;
  std::shared_ptr<MarkedNotes> marked_;
};

}  // namespace mplus::kernels::cuda
