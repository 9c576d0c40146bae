// The parts of libtorch this room uses: tensors, their operations and autograd; not torch::nn, whose headers
// would double the time to compile. Precompiled (CMakeLists.txt).
#pragma once

#include <torch/csrc/autograd/autograd.h>
#include <torch/types.h>

namespace mplus::train {

using torch::Tensor;

}  // namespace mplus::train
