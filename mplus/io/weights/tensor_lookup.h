// How the readers of this room find a tensor by its name.
#pragma once

#include "mplus/io/weights/tensor.h"

namespace mplus::io {

const Tensor* find_tensor(const TensorMap& tensors, std::string_view name);  // nullptr if absent
// Throws not_found naming file and tensor.
const Tensor& tensor_at(const TensorMap& tensors, std::string_view file_name, std::string_view name);

}  // namespace mplus::io
