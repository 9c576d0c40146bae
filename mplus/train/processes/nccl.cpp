#define USE_C10D_NCCL
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "mplus/train/processes/gpu_group.h"

namespace mplus::train {

void require_gpu_group() {}

c10::intrusive_ptr<c10d::Backend> join_gpus(const c10::intrusive_ptr<c10d::Store>& store, const Share& share,
                                            std::chrono::milliseconds timeout, torch::Device device) {
  const auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = timeout;
  const auto group = c10::make_intrusive<c10d::ProcessGroupNCCL>(
      c10::make_intrusive<c10d::PrefixStore>("gpu", store), static_cast<int>(share.process),
      static_cast<int>(share.processes), options);
  group->setBoundDeviceId(device);
  return group;
}

}  // namespace mplus::train
