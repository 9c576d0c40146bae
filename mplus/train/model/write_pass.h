// The write pass: a chunk of every stream through the decoder with the write adapter; what comes out are the
// new rows of each layer that keeps a memory (docs/algorithm.md, "Update").
#pragma once

#include <vector>

#include "mplus/train/model/model.h"
#include "mplus/train/model/stream_memory.h"

namespace mplus::train {

// tokens [B, T], int64. Returns [M] of [B, min(K, t + T), d] and leaves the memory as it is. Gradients flow
// to the weights, to bos and positional vectors, and through the tail to earlier writes. streams [B]: the
// streams these chunks are for; undefined: all, in order.
std::vector<Tensor> write_pass(const Model& model, const PassWeights& weights, const StreamMemory& memory,
                               const Tensor& tokens, const Tensor& streams = {});

}  // namespace mplus::train
