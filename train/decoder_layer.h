// One decoder layer of a Llama, batched over streams: rows x of B streams attend to prefix rows (bos, memory)
// and causally to each other. The norm and the rotation are computed in float32 whatever the pass computes in
// (in double where that is double).
#pragma once

#include <cstdint>
#include <vector>

#include "mplus/io/model_config.h"
#include "mplus/train/fused.h"
#include "mplus/train/model.h"

namespace mplus::train {

// Keys and values of rows, [B, rows, G, e].
struct KeyValue {
  Tensor k, v;
};

// Keys and values of normed rows [B, rows, d], before rotation: what a memory row supplies to a read or a
// write.
KeyValue project_rows(const LayerWeights& w, const io::ModelConfig& config, const Tensor& normed);

// The layer's output for x [B, T, d]; `normed` is rms_norm(x, w.attention_norm). The prefix is rotated
// already, x stands at the positions of `at`.
Tensor decoder_layer(const LayerWeights& w, const io::ModelConfig& config, const Tensor& x,
                     const Tensor& normed, const KeyValue& prefix, const Rotation& at);

}  // namespace mplus::train
