// The identity of a set of weights: a hash over the hashes of its tensors as they are used. Reading every
// byte of a large model takes seconds, so the result is remembered by the files' names, sizes and times.
#pragma once

#include <string>

#include "mplus/model/files/load.h"

namespace mplus::engine {

std::string hash_weights(const model::Weights& weights);

// hash_weights(), remembered in $MPLUS_HOME/cache. A cache that cannot be read or written is only slower.
std::string cached_weights_id(const model::Weights& weights, const model::ModelFiles& files);

}  // namespace mplus::engine
