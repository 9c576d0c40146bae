// What a device can do: every operation, after its checks. The operations' own headers say what each means;
// here only the tensors' contents are left to be computed, all of them on the backend's device unless said
// otherwise. Backends are immutable and live as long as the program; what changes is in the queue's state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "mplus/core/tensors/buffer.h"
#include "mplus/core/tensors/device_buffer.h"
#include "mplus/core/tensors/tensor.h"
#include "mplus/kernels/queue.h"

namespace mplus {
struct Choice;
}

namespace mplus::kernels {

class RopeTable;
struct AdaptedOutput;
struct AdaptedProducts;
struct AttendItem;
struct BestScores;
struct ChunkRule;
struct ChunkSums;
struct KeyGather;
struct KvCache;
struct KvShape;
struct LinearOutput;
struct Note;
struct NumberedRows;
struct QueryKeys;
struct RowBlock;
struct RowCopy;
struct RowGather;
struct RowScatter;
struct TokenRows;
enum class ResultUse : std::uint8_t;
enum class Rows : std::uint8_t;

// Of a device, in bytes.
struct MemoryUse {
  std::size_t allocated = 0, most_allocated = 0;  // by this program, now and at most
  std::size_t reserved = 0;  // with what was given back and is kept to be given out again
  std::size_t driver = 0;    // what the driver says is in use, by all programs and with what it needs itself
};

// A place in the order of what a queue was told to do.
class Mark {
 public:
  Mark() = default;
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;
  virtual ~Mark() = default;
  // Returns when everything before it is done, and what was brought aside has arrived; later operations may
  // still run. What take_note() would have given there.
  virtual std::int32_t wait() = 0;
};

class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  // Of the device, and of the host where the device reaches it fastest (pinned); both aligned to 256 bytes or
  // more. Throws out_of_capacity where there is no more.
  virtual Buffer allocate(std::size_t size_bytes) const = 0;
  virtual Buffer allocate_host(std::size_t size_bytes) const = 0;
  virtual std::size_t free_bytes() const = 0;          // of the device, now
  virtual MemoryUse memory_use() const { return {}; }  // zeros on the processor
  // Values of the device, without gaps, to host memory: for what is asked for now and then. It waits for
  // everything the device has been told to do; any thread may call it.
  virtual void bring(void* to, const ConstTensor& from) const = 0;

  // What it computes with: what weights of a file's type become when they are copied to the device, and the
  // type of an attention cache.
  virtual DType weight_type(Numerics numerics, DType file) const = 0;
  virtual DType cache_type(Numerics numerics) const = 0;
  // Whether products take weights of this shape in one byte each (linear.h). What stands beside them is f16
  // then.
  virtual bool packs_weights(Numerics, const Matrix&) const { return false; }
  // Prompts of up to so many tokens are faster as Rows::some; 0: none are.
  virtual std::int64_t short_rows(Numerics) const { return 0; }
  virtual std::string numerics_id(Numerics numerics) const = 0;

  // Weights in the order that products read fastest: the bytes such a copy takes, 0 where they are best left
  // as they lie; and the copy, which has the bits of w in every product. Of the processor only.
  virtual std::size_t arranged_bytes(Numerics, const Matrix&) const { return 0; }
  virtual Matrix arrange(Queue&, std::byte*, const Matrix& w) const { return w; }

  // queue.h
  virtual std::unique_ptr<QueueState> make_state() const = 0;
  virtual void wait(Queue&) const = 0;
  virtual void wait_aside(Queue& queue) const { wait(queue); }
  // rows.h
  virtual void copy(Queue&, Tensor out, ConstTensor in) const = 0;
  virtual void copy_all(Queue&, std::span<const RowCopy> copies) const;  // one by one, unless it knows better
  // From the device to its pinned host memory, while later operations are done; there after wait(), and what
  // is copied must stay until then.
  virtual void copy_aside(Queue& queue, Tensor out, ConstTensor in) const { copy(queue, out, in); }
  virtual void fill(Queue&, Tensor out, float value) const = 0;
  virtual void scatter_rows(Queue&, std::span<const RowScatter> jobs) const = 0;
  virtual void note_finite(Queue&, std::span<const Note> notes) const = 0;
  virtual std::int32_t take_note(Queue&) const = 0;
  // Behind everything called so far; takes the note without waiting. At most 16 of a queue at a time.
  virtual std::unique_ptr<Mark> mark(Queue& queue) const;
  // choose.h
  virtual void choose(Queue&, Tensor out, Tensor logits, std::span<const Choice> choices) const = 0;
  // embedding.h
  virtual void embed(Queue&, Tensor out, const Matrix& table, std::span<const std::int32_t> ids) const = 0;
  // linear.h
  virtual void linear(Queue&, ConstTensor x, std::span<const LinearOutput> outputs) const = 0;
  // adapter.h: by linear(), unless a device knows better.
  virtual void linear_adapted(Queue&, ConstTensor x, std::span<const AdaptedOutput> outputs, Rows rows) const;
  virtual void linear_adapted_all(Queue&, std::span<const AdaptedProducts> all, Rows rows) const;
  virtual void swiglu_adapted(Queue&, ConstTensor x, const AdaptedOutput& gate, const AdaptedOutput& up,
                              Rows rows, ResultUse use) const;
  // Whether products with both read their x in one form, so that ResultUse::products may hold for them
  // together.
  virtual bool read_alike(const Matrix& a, const Matrix& b) const { return a.dtype == b.dtype; }
  // norm.h
  virtual void rms_norm(Queue&, Tensor out, ConstTensor x, ConstTensor weight, float epsilon,
                        std::optional<DType> read_as) const = 0;
  // activation.h
  virtual void swiglu(Queue&, Tensor out, ConstTensor gate, ConstTensor up) const = 0;
  virtual void silu(Queue&, Tensor x) const = 0;
  virtual void add_row(Queue&, Tensor x, ConstTensor row) const = 0;
  // pooling.h
  virtual void pooling_shares(Queue&, Tensor shares, ConstTensor x, ConstTensor vector) const = 0;
  // rope.h
  virtual void rope(Queue&, Tensor x, const RopeTable& angles, std::int64_t first_position) const = 0;
  // kv.h: behind cache.rows, which the caller raises. Rows on the device, or in host memory.
  virtual void append_rows(Queue&, const KvCache& cache, const KvShape& shape, const RowBlock& rows,
                           const RopeTable& angles) const = 0;
  virtual void gather_rows(Queue&, const KvCache& cache, const KvShape& shape, const RowGather& rows,
                           const RopeTable& angles) const = 0;
  virtual void gather_rows(Queue&, const KvCache& cache, const KvShape& shape, const NumberedRows& rows,
                           const RopeTable& angles) const = 0;
  // tokens.h: by copy(), append_rows() and rope(), unless a device knows better.
  virtual void append_tokens(Queue&, std::span<const TokenRows> sessions, const KvShape& shape,
                             const RopeTable& angles, std::int32_t first_note) const;
  // attention.h
  virtual void attend(Queue&, std::span<const AttendItem> items, const KvShape& shape) const = 0;
  virtual void attention_weights(Queue&, const AttendItem& item, const KvShape& shape) const = 0;
  // retrieval.h
  virtual void retrieval_scores(Queue&, std::span<const QueryKeys> layers) const = 0;
  virtual void gathered_scores(Queue&, Tensor scores, ConstTensor q, const KeyGather& keys) const = 0;
  // chunk_sums.h
  virtual void chunk_sums(Queue&, std::span<const ChunkSums> layers, const ChunkRule& rule) const = 0;
  // best_scores.h
  virtual void best_scores(Queue&, const BestScores& out, ConstTensor scores, std::int64_t wanted) const = 0;
};

const Backend& backend_of(const Device& device);
const Backend& cpu_backend();
// Of kernels/cuda/; a build without it has those of kernels/no_cuda/: none, and one that throws unsupported.
int cuda_devices();  // that this program can use
const Backend& cuda_backend(const Device& device);

}  // namespace mplus::kernels
