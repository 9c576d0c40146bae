// A build without CUDA.
#include "mplus/core/error.h"
#include "mplus/train/gpu/gpu.h"

namespace mplus::train::gpu {
namespace {

[[noreturn]] void refuse() {
  fail(ErrorCode::unsupported,
       "this trainer was built without CUDA: build it where torch and the compiler have it");
}

}  // namespace

bool normalises(const Tensor&) { return false; }
bool gates(const Tensor&) { return false; }
bool rotates(const Tensor&, const Tensor&) { return false; }
bool attends(const Tensor&) { return false; }
bool scores(const Tensor&) { return false; }
bool averages(const Tensor&) { return false; }

Normed normalise(const Tensor&, const Tensor&, float) { refuse(); }
Tensor normalise_back(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&) { refuse(); }
Tensor swiglu(const Tensor&) { refuse(); }
Tensor swiglu_back(const Tensor&, const Tensor&) { refuse(); }
void rotate_into(const Tensor&, const Tensor&, const Rotation&, Rotate) { refuse(); }
Attention attend(const Tensor&, const Tensor&, const Tensor&) { refuse(); }
AttentionGradients attend_back(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Attention&) {
  refuse();
}
Tensor asked_scores(const Tensor&, const Tensor&, const Tensor&) { refuse(); }
Tensor best_mean(const Tensor&, std::int64_t) { refuse(); }
void use(torch::Device) { refuse(); }
std::string product(torch::Device) { refuse(); }
double peak_gigabytes(torch::Device) { refuse(); }

}  // namespace mplus::train::gpu
