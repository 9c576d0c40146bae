#include "mplus/core/error.h"
#include "mplus/train/processes/gpu_group.h"

namespace mplus::train {

void require_gpu_group() {
  fail(ErrorCode::unsupported, "several processes on GPUs need NCCL, and this program was built without it");
}

c10::intrusive_ptr<c10d::Backend> join_gpus(const c10::intrusive_ptr<c10d::Store>&, const Share&,
                                            std::chrono::milliseconds, torch::Device) {
  require_gpu_group();
  return {};
}

}  // namespace mplus::train
