// Causal attention with shared heads, there and back: row t of q sees the first (keys − T) + t + 1 rows of k,
// aligned to the end. On a GPU in bfloat16 it is torch's flash attention.
#pragma once

#include <vector>

#include "mplus/train/torch.h"

namespace mplus::train {

struct Attention {
  Tensor out;                        // [B, T, H, e]
  std::vector<Tensor> for_backward;  // what the way back needs beside q, k, v and out
};
Attention attend(const Tensor& q, const Tensor& k, const Tensor& v);

struct AttentionGradients {
  Tensor q, k, v;  // as their tensors
};
AttentionGradients attend_back(const Tensor& dout, const Tensor& q, const Tensor& k, const Tensor& v,
                               const Attention& attention);

}  // namespace mplus::train
