// The processor's halves of the operations: they cut the work, hand it to the queue's threads and call the
// functions of the instruction set in use. Their headers above say what each means; shapes are checked there.
#pragma once

#include <cstdint>
#include <span>

#include "mplus/core/numbers/choose.h"
#include "mplus/core/tensors/buffer.h"
#include "mplus/kernels/attention/attention.h"
#include "mplus/kernels/attention/kv.h"
#include "mplus/kernels/attention/rope.h"
#include "mplus/kernels/linear/adapter.h"
#include "mplus/kernels/linear/linear.h"
#include "mplus/kernels/queue.h"
#include "mplus/kernels/retrieval/best_scores.h"
#include "mplus/kernels/retrieval/chunk_sums.h"
#include "mplus/kernels/retrieval/retrieval.h"

namespace mplus::kernels::cpu {

void rms_norm(Queue& queue, Tensor out, const ConstTensor& x, const ConstTensor& weight, float epsilon);
void swiglu(Queue& queue, float* out, const float* gate, const float* up, std::int64_t n);
void silu(Queue& queue, float* x, std::int64_t n);
void add_row(Queue& queue, float* x, const float* row, std::int64_t T, std::int64_t d);
bool all_finite(Queue& queue, const float* x, std::int64_t n);
void choose(Queue& queue, std::int64_t* out, const Tensor& logits, std::span<const Choice> choices);
void rope(Queue& queue, Tensor x, const RopeTable& angles, std::int64_t first_position);

// Products of the same x[T, in]: it is rounded once, and the threads share all of them out as one list.
struct Product {
  float* out = nullptr;
  const Matrix* w = nullptr;
  LinearOptions options = {};
  std::int64_t out_stride = 0;  // floats from a row of out to the next; 0 means w.rows
};
void linear(Queue& queue, const float* x, std::int64_t T, std::span<const Product> products);
void linear(Queue& queue, float* out, const float* x, std::int64_t T, const Matrix& w,
            const LinearOptions& options = {});

// Weights whose products with rounded activations are integers; rows of i8 only in whole blocks.
bool meets_integers(const Matrix& w);

// Backend::linear_adapted and swiglu_adapted, where the instruction set folds additions in; false: it does
// not, nothing was done.
bool linear_adapted(Queue& queue, ConstTensor x, std::span<const AdaptedOutput> outputs, Rows rows);
bool swiglu_adapted(Queue& queue, ConstTensor x, std::span<const AdaptedOutput, 2> both, Rows rows,
                    ResultUse use);

// Backend::arranged_bytes and arrange: rows of codes in interleaved groups (Table::group_weights), where the
// instruction set in use has products for them.
std::size_t arranged_bytes(Numerics numerics, const Matrix& w);
Matrix arrange(Queue& queue, std::byte* to, const Matrix& w);

void append_rows(Queue& queue, const KvCache& cache, const KvShape& shape, const RowBlock& rows,
                 const RopeTable& angles);
void gather_rows(Queue& queue, const KvCache& cache, const KvShape& shape, const RowGather& rows,
                 const RopeTable& angles);

void gather_rows(Queue& queue, const KvCache& cache, const KvShape& shape, const NumberedRows& rows,
                 const RopeTable& angles);

void attend(Queue& queue, std::span<const AttendItem> items, const KvShape& shape);
void attention_weights(Queue& queue, const AttendItem& item, const KvShape& shape);

void retrieval_scores(Queue& queue, std::span<const KeyBlock> blocks, const ConstTensor& q);
void gathered_scores(Queue& queue, float* scores, const ConstTensor& q, const KeyGather& keys);
void chunk_sums(Queue& queue, std::span<const ChunkSums> layers, const ChunkRule& rule);
void best_scores(const BestScores& out, const ConstTensor& scores, std::int64_t wanted);

}  // namespace mplus::kernels::cpu
