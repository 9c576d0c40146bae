#include "mplus/kernels/retrieval/retrieval.h"

#include "mplus/core/numbers/row_format.h"
#include "mplus/kernels/backend.h"
#include "mplus/kernels/check.h"

namespace mplus::kernels {
namespace {

std::int64_t key_width(DType dtype, std::int64_t d_r) {
  return dtype == DType::i8 ? static_cast<std::int64_t>(small_key_bytes(d_r)) : d_r;
}

void check_keys(const Queue& queue, const ConstTensor& keys, const ConstTensor& q, const ConstTensor& like) {
  check_matrix(keys, key_width(keys.dtype, q.size(1)));
  MPLUS_CHECK((keys.dtype == DType::f32 || keys.dtype == DType::bf16 || keys.dtype == DType::i8) &&
                  keys.dtype == like.dtype && keys.device == like.device && keys.contiguous() &&
                  (keys.device.is_cpu() || keys.device == queue.device()),
              "keys of {} on {}", dtype_name(keys.dtype), device_name(keys.device));
}

void check_queries(const ConstTensor& q, const ConstTensor& keys) {
  check_floats(keys.device, {q});
  MPLUS_CHECK(q.dimensions == 2 && q.size(0) > 0, "{} queries", q.size(0));
}

const Backend& backend_for(const ConstTensor& keys, const Queue& queue) {
  return keys.device.is_cpu() ? cpu_backend() : queue.backend();
}

}  // namespace

ConstTensor key_tensor(const void* keys, DType dtype, std::int64_t n, std::int64_t d_r, Device device) {
  return {keys, dtype, {n, key_width(dtype, d_r)}, device};
}

void retrieval_scores(Queue& queue, std::span<const QueryKeys> layers) {
  const ConstTensor* like = nullptr;
  std::int64_t n = 0;
  for (const QueryKeys& layer : layers) {
    for (const KeyBlock& block : layer.blocks) {
      if (!like) like = &block.keys;
      n += block.keys.size(0);
      check_keys(queue, block.keys, layer.q, *like);
      check_floats(block.keys.device, {block.scores});
      MPLUS_CHECK(block.scores.elements() == block.keys.size(0), "{} scores of {} keys",
                  block.scores.elements(), block.keys.size(0));
    }
  }
  if (n == 0) return;
  for (const QueryKeys& layer : layers) {
    check_queries(layer.q, *like);
    check_same_shape(layer.q, layers.front().q);
  }
  backend_for(*like, queue).retrieval_scores(queue, layers);
}

void retrieval_scores(Queue& queue, std::span<const KeyBlock> blocks, ConstTensor q) {
  std::int64_t n = 0;
  for (const KeyBlock& block : blocks) n += block.keys.size(0);
  if (n == 0) return;  // then there may be no queries either
  const QueryKeys alone{q, blocks};
  retrieval_scores(queue, {&alone, 1});
}

void retrieval_scores(Queue& queue, Tensor scores, ConstTensor q, ConstTensor keys) {
  const KeyBlock block{keys, scores};
  retrieval_scores(queue, {&block, 1}, q);
}

void retrieval_scores(Queue& queue, Tensor scores, ConstTensor q, const KeyGather& keys) {
  if (keys.places.empty()) return;
  const ConstTensor& first = keys.blocks[keys.places[0].block];
  const ConstTensor* checked = nullptr;  // neighbours are of the same block, as a rule
  for (const RowPlace& place : keys.places) {
    const ConstTensor& block = keys.blocks[place.block];
    if (&block != checked) check_keys(queue, *(checked = &block), q, first);
    MPLUS_CHECK(place.row >= 0 && place.row < block.size(0), "key {} of {}", place.row, block.size(0));
  }
  check_queries(q, first);
  check_floats(first.device, {scores});
  MPLUS_CHECK(scores.elements() == std::ssize(keys.places), "{} scores of {} keys", scores.elements(),
              keys.places.size());
  backend_for(first, queue).gathered_scores(queue, scores, q, keys);
}

}  // namespace mplus::kernels
