// What a run begins from: adapters, vectors and retriever for a base that has none yet, or a delta that shall
// keep the memory of some layers only.
#pragma once

#include <cstdint>

#include "mplus/train/model/model.h"

namespace mplus::train {

// A loaded base gets the memory parts of `memory` (K, N, K0, C, W, d_r, rank and α must be set), drawn from
// the seed. The adapters' second factors and the positional vector are zero, so the model first reads and
// writes as the base does; the bos vectors are the states of the base's own first token before each layer.
void begin_delta(Model& model, const io::MemoryConfig& memory, std::uint64_t seed);

// Of a loaded delta's memories only those of these layers are kept. What it was trained to find in the others
// it has to learn anew.
void keep_layers(Model& model, const LayerSet& layers);

}  // namespace mplus::train
