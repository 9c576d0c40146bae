// One decoder layer of a Llama or a Qwen, batched over streams: rows x of B streams attend to rows in front
// of them (bos, memory) and causally to each other. The norm and the rotation are computed in float32
// whatever the pass computes in (in double where that is double).
#pragma once

#include <cstdint>

#include "mplus/io/config/model_config.h"
#include "mplus/train/model/layers/fused.h"
#include "mplus/train/model/model.h"

namespace mplus::train {

// Keys and values of rows before rotation (behind bias and norm of a key), [B, rows, G, e]: what a memory row
// supplies to a read or a write.
struct KeyValue {
  Tensor k, v;
};

// Of normed rows [B, rows, d].
KeyValue project_rows(const LayerWeights& w, const io::ModelConfig& config, const Tensor& normed);

// What stands in front of a layer's rows, in this order: hidden states that only supply keys and values, then
// rows whose keys and values are known. Undefined: none.
struct Front {
  Tensor hidden = {};  // [B, c, d]
  KeyValue known = {};
};

struct LayerOutput {
  Tensor y;     // [B, T, d]
  Tensor last;  // [B, n, d]: y's last rows, as tensors of their own; where asked for
};

// x [B, T, d] stands at the positions behind the front. To autograd the whole layer is one operation: what
// torch would record for its parts costs more time on the host than the parts do on a GPU, and what is cheap
// to compute again (norms, activations) is not kept.
LayerOutput decoder_layer(const LayerWeights& w, const io::ModelConfig& config, const Tensor& x,
                          const Front& front, RopeTable& rope, std::int64_t last = 0);

}  // namespace mplus::train
