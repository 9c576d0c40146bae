// What a GPU does with kernels of our own, over tensors; everything else is torch's. The build takes one of
// two bodies: cuda.cpp, or no_cuda.cpp where there is no CUDA, which has nothing and refuses to be asked.
#pragma once

#include <string>

#include "mplus/train/model/layers/attention.h"
#include "mplus/train/model/layers/fused.h"

namespace mplus::train::gpu {

// Whether there is a kernel for such tensors. The functions below want it to be so.
bool normalises(const Tensor& x);
bool gates(const Tensor& gate_up);
bool rotates(const Tensor& from, const Tensor& to);
bool attends(const Tensor& q);
bool scores(const Tensor& queries);
bool averages(const Tensor& scores);

// As in model/fused.h.
Normed normalise(const Tensor& x, const Tensor& weight, float epsilon);
Tensor normalise_back(const Tensor& dy, const Tensor& x, const Tensor& weight, const Tensor& inverse,
                      const Tensor& plus);
Tensor swiglu(const Tensor& gate_up);
Tensor swiglu_back(const Tensor& dy, const Tensor& gate_up);
void rotate_into(const Tensor& from, const Tensor& to, const Rotation& at, Rotate way);

// As in model/attention.h.
Attention attend(const Tensor& q, const Tensor& k, const Tensor& v);
AttentionGradients attend_back(const Tensor& dout, const Tensor& q, const Tensor& k, const Tensor& v,
                               const Attention& attention);

// As in retriever/vote_scores.h, with gradients.
Tensor asked_scores(const Tensor& queries, const Tensor& weights, const Tensor& keys);
Tensor best_mean(const Tensor& scores, std::int64_t top);

void use(torch::Device device);  // from now on, in this thread
std::string product(torch::Device device);
double peak_gigabytes(torch::Device device);  // most that was taken of its memory

}  // namespace mplus::train::gpu
