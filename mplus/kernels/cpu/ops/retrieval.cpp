#include <algorithm>
#include <cstring>

#include "mplus/core/numbers/row_format.h"
#include "mplus/kernels/cpu/ops/operations.h"
#include "mplus/kernels/isa.h"
#include "mplus/kernels/parallel.h"

namespace mplus::kernels::cpu {
namespace {

struct KeyPiece {
  const KeyBlock* block;
  std::int64_t begin, end;
};

// Keys of one item of work: at least two items a block, so that a short store is shared as well.
std::int64_t piece_size(const KeyBlock& block) {
  return std::clamp<std::int64_t>((block.keys.size(0) + 1) / 2, 64, 1024);
}

constexpr std::int64_t kGathered = 64;  // keys copied together at a time
constexpr std::int64_t kAhead = 24;     // keys on their way from memory while one is copied
constexpr std::size_t kLine = 64;
constexpr std::int64_t kItemKeys = 1024;  // of one item of work, where keys are gathered

std::int64_t work_of(std::int64_t n, std::int64_t T, std::int64_t d_r) { return n * T * (d_r / 8 + 2); }

std::size_t whole_lines(std::size_t size_bytes) { return (size_bytes + kLine - 1) / kLine * kLine; }

// Queries as keys of this type are scored with, and what scores them.
class Scorer {
 public:
  Scorer(Numerics numerics, const ConstTensor& q, DType dtype)
      : T_(q.size(0)), d_r_(q.size(1)), dtype_(dtype), way_(way(numerics, q.size(1), dtype)) {}

  std::size_t packed_size() const { return whole_lines(way_.packed_size(T_, d_r_)); }
  void pack(std::byte* packed, const float* q) {
    packed_ = packed;
    way_.pack(packed, q, T_, d_r_);
  }
  std::size_t scratch_size() const { return way_.scratch(d_r_); }
  std::size_t key_bytes() const {
    return dtype_ == DType::i8 ? small_key_bytes(d_r_) : row_bytes(dtype_, d_r_);
  }

  // scores[begin … end) of the keys with these numbers.
  void score(float* scores, const void* keys, std::int64_t begin, std::int64_t end,
             std::byte* scratch) const {
    const ScoreJob job{scores, packed_, static_cast<const std::byte*>(keys), dtype_, T_, d_r_};
    way_.score(job, begin, end, scratch);
  }

 private:
  static const Scoring& way(Numerics numerics, std::int64_t d_r, DType dtype) {
    const Table& isa = table();
    if (dtype != DType::i8) return isa.plain;
    const bool fast =
        numerics == Numerics::fast && isa.small_fast.score != nullptr && d_r <= kMostFastColumns;
    return fast ? isa.small_fast : isa.small;
  }

  std::int64_t T_, d_r_;
  DType dtype_;
  const Scoring& way_;
  const std::byte* packed_ = nullptr;
};

}  // namespace

void retrieval_scores(Queue& queue, std::span<const KeyBlock> blocks, const ConstTensor& q) {
  const std::int64_t T = q.size(0), d_r = q.size(1);
  std::int64_t n = 0, items = 0;
  for (const KeyBlock& block : blocks) {
    n += block.keys.size(0);
    items += (block.keys.size(0) + piece_size(block) - 1) / piece_size(block);
  }
  Scorer scorer(queue.numerics(), q, blocks.front().keys.dtype);
  const std::size_t packed_size = scorer.packed_size();
  std::byte* shared = queue.shared_scratch(packed_size + static_cast<std::size_t>(items) * sizeof(KeyPiece));
  scorer.pack(shared, q.on_host<float>());
  auto* pieces = reinterpret_cast<KeyPiece*>(shared + packed_size);
  KeyPiece* next = pieces;
  for (const KeyBlock& block : blocks)
    for (std::int64_t begin = 0; begin < block.keys.size(0); begin += piece_size(block))
      *next++ = {&block, begin, std::min(block.keys.size(0), begin + piece_size(block))};
  const std::size_t scratch_size = scorer.scratch_size();
  for (int worker = 0; worker < queue.pool().size(); ++worker) queue.scratch(worker, scratch_size);
  parallel(queue, items, work_of(n, T, d_r), [&](std::int64_t item, int worker) {
    const KeyPiece& piece = pieces[item];
    scorer.score(piece.block->scores.on_host<float>(), piece.block->keys.data, piece.begin, piece.end,
                 queue.scratch(worker, scratch_size));
  });
}

void gathered_scores(Queue& queue, float* scores, const ConstTensor& q, const KeyGather& keys) {
  const std::int64_t T = q.size(0), d_r = q.size(1), n = std::ssize(keys.places);
  Scorer scorer(queue.numerics(), q, keys.blocks[keys.places[0].block].dtype);
  scorer.pack(queue.shared_scratch(scorer.packed_size()), q.on_host<float>());
  const std::size_t key_bytes = scorer.key_bytes();
  const std::size_t gather_size = whole_lines(kGathered * key_bytes);
  const std::size_t scratch_size = gather_size + scorer.scratch_size();
  const auto key = [&](std::int64_t j) {
    const RowPlace& place = keys.places[static_cast<std::size_t>(j)];
    return static_cast<const std::byte*>(keys.blocks[place.block].data) +
           static_cast<std::size_t>(place.row) * key_bytes;
  };
  for (int worker = 0; worker < queue.pool().size(); ++worker) queue.scratch(worker, scratch_size);
  const std::int64_t items = (n + kItemKeys - 1) / kItemKeys;
  parallel(queue, items, work_of(n, T, d_r), [&](std::int64_t item, int worker) {
    std::byte* gathered = queue.scratch(worker, scratch_size);
    const std::int64_t end = std::min(n, (item + 1) * kItemKeys);
    for (std::int64_t begin = item * kItemKeys; begin < end; begin += kGathered) {
      const std::int64_t count = std::min(kGathered, end - begin);
      for (std::int64_t j = 0; j < count; ++j) {
        if (begin + j + kAhead < n) {  // scattered over the store: nothing else would fetch it
          const std::byte* later = key(begin + j + kAhead);
          for (std::size_t line = 0; line < key_bytes; line += kLine) __builtin_prefetch(later + line);
        }
        std::memcpy(gathered + static_cast<std::size_t>(j) * key_bytes, key(begin + j), key_bytes);
      }
      scorer.score(scores + begin, gathered, 0, count, gathered + gather_size);
    }
  });
}

}  // namespace mplus::kernels::cpu
