// From scores of rows to scores of chunks. A chunk's score is the mean of its rows' scores, or of its best
// ones. Sums are integers in units of 2⁻⁴⁰: exact, so that they do not depend on the order of the rows, nor
// on the device.
#pragma once

#include <cstdint>
#include <span>

#include "mplus/core/tensors/tensor.h"
#include "mplus/kernels/queue.h"
#include "mplus/kernels/retrieval/score_units.h"

namespace mplus::kernels {

// Scores of rows that lie together. A row is not there, and its score becomes NaN, if it was born before
// oldest_birth, or just then with a number first_number + its place below oldest_number.
struct ScorePart {
  Tensor scores;       // [n] f32
  ConstTensor births;  // [n] i64, or kNoBirth
  std::int64_t first_number = 0;
  std::int64_t oldest_birth = kNoBirth;
  std::int64_t oldest_number = 0;
};

// Chunk c has the rows born in [c·K, (c + 1)·K).
struct ChunkRule {
  std::int64_t K = 1;
  std::int64_t chunks = 0;  // [0, chunks)
  std::int64_t top = 0;     // only so many best rows of a chunk are added; 0: all
};

struct ChunkSums {  // of a layer
  std::span<const ScorePart> parts;
  Tensor sums;  // [chunks] i64, in units
  Tensor rows;  // [chunks + 1] i64: rows that were added; the last one: rows of no such chunk, which were not
};

// For several layers in one go. Everything lies on the queue's device; a score that is NaN does not count.
void chunk_sums(Queue& queue, std::span<const ChunkSums> layers, const ChunkRule& rule);

}  // namespace mplus::kernels
