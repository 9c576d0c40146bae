// Processes that share GPUs talk through NCCL. The build takes one of two bodies: nccl.cpp, or no_nccl.cpp.
#pragma once

#include <chrono>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "mplus/train/processes/share.h"
#include "mplus/train/torch.h"

namespace mplus::train {

void require_gpu_group();  // throws unsupported where there is none
c10::intrusive_ptr<c10d::Backend> join_gpus(const c10::intrusive_ptr<c10d::Store>& store, const Share& share,
                                            std::chrono::milliseconds timeout, torch::Device device);

}  // namespace mplus::train
