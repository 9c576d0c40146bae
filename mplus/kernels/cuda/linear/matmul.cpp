#include "mplus/kernels/cuda/linear/matmul.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "mplus/core/error.h"
#include "mplus/kernels/cuda/device/check.h"
#include "mplus/kernels/cuda/linear/cublas_lt.h"

namespace mplus::kernels::cuda {
namespace {

constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;
constexpr std::int64_t kUsualRows = 512;  // what algorithms for any number of rows are chosen by
constexpr std::uint32_t kAlignedBytes = 16;

template <auto kDestroy, class Handle>
struct Owned {
  Handle handle = nullptr;
  Owned() = default;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (handle) (cublas_lt().*kDestroy)(handle);
  }
};
using Desc = Owned<&CublasLt::desc_destroy, cublasLtMatmulDesc_t>;
using Layout = Owned<&CublasLt::layout_destroy, cublasLtMatrixLayout_t>;
using Preference = Owned<&CublasLt::preference_destroy, cublasLtMatmulPreference_t>;

// Row-major operands are the library's column-major ones turned: D[o,T] = Wᵀ[i,o]ᵀ · X[i,T].
struct Operands {
  Desc desc;
  Layout w, x, out;

  Operands(const Product& product, std::int64_t inputs, std::int64_t T, const Matmul::Batch& batch) {
    const CublasLt& lt = cublas_lt();
    const cudaDataType type = product.dtype == DType::bf16 ? CUDA_R_16BF : CUDA_R_16F;
    check(lt.desc_create(&desc.handle, CUBLAS_COMPUTE_32F, CUDA_R_32F), "describing a product");
    const cublasOperation_t turned = CUBLAS_OP_T;
    check(lt.desc_set(desc.handle, CUBLASLT_MATMUL_DESC_TRANSA, &turned, sizeof turned),
          "describing a product");
    const auto o = static_cast<std::uint64_t>(product.outputs), i = static_cast<std::uint64_t>(inputs);
    const auto rows = static_cast<std::uint64_t>(T);
    check(lt.layout_create(&w.handle, type, i, o, inputs), "describing weights");
    check(lt.layout_create(&x.handle, type, i, rows, inputs), "describing rows");
    check(lt.layout_create(&out.handle, CUDA_R_32F, o, rows, product.out_stride), "describing results");
    if (batch.count == 1) return;
    set_batch(w, batch.count, batch.w);
    set_batch(x, batch.count, batch.x);
    set_batch(out, batch.count, batch.out);
  }

 private:
  static void set_batch(const Layout& layout, std::int32_t count, std::int64_t offset) {
    const auto set = [&](cublasLtMatrixLayoutAttribute_t what, const auto& value) {
      check(cublas_lt().layout_set(layout.handle, what, &value, sizeof value), "describing several products");
    };
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, count);
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, offset);
  }
};

// The i-th product of a job.
Matmul::Job alone(const Matmul::Job& job, int i) {
  Matmul::Job one = job;
  one.batch = {};
  one.product.w = static_cast<const std::uint16_t*>(job.product.w) + i * job.batch.w;
  one.product.out = job.product.out + i * job.batch.out;
  one.x = static_cast<const std::uint16_t*>(job.x) + i * job.batch.x;
  return one;
}

void make_preference(Preference& preference, bool one_order) {
  const CublasLt& lt = cublas_lt();
  check(lt.preference_create(&preference.handle), "describing a choice");
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t what, const auto& value) {
    check(lt.preference_set(preference.handle, what, &value, sizeof value), "describing a choice");
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceBytes);
  for (const auto what :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    set(what, kAlignedBytes);
  const std::uint32_t none = CUBLASLT_REDUCTION_SCHEME_NONE;
  if (one_order) set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, none);
}

bool sums_in_one_block(const cublasLtMatmulAlgo_t& algo) {
  std::int32_t splits = 1;
  std::size_t written = 0;
  check(cublas_lt().algo_attribute(&algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &splits, sizeof splits, &written),
        "choosing an algorithm");
  return splits <= 1;
}

}  // namespace

struct Matmul::Plan {
  cublasLtMatmulAlgo_t algo;
};

Matmul::Matmul(const DeviceMemory& memory) : memory_(&memory) {}

Matmul::~Matmul() {
  if (handle_) cublas_lt().destroy(handle_);
}

bool Matmul::fits(const Product& product, std::int64_t inputs) {
  const auto aligned = [](const void* p) { return std::bit_cast<std::uintptr_t>(p) % kAlignedBytes == 0; };
  return (product.dtype == DType::bf16 || product.dtype == DType::f16) && inputs > 0 && inputs % 8 == 0 &&
         product.out_stride % 4 == 0 && product.outputs % 4 == 0 && aligned(product.w) &&
         aligned(product.out);
}

bool Matmul::pair(const Product& a, const Product& b) {
  return a.outputs == b.outputs && a.dtype == b.dtype && a.out_stride == b.out_stride && a.scale == b.scale &&
         a.accumulate == b.accumulate && a.w < b.w && a.out < b.out;
}

Matmul::Batch Matmul::batch_of(const Product& a, const Product& b) {
  return {2, static_cast<const std::uint16_t*>(b.w) - static_cast<const std::uint16_t*>(a.w), 0,
          b.out - a.out};
}

void Matmul::open() {
  if (handle_) return;
  check(cublas_lt().create(&handle_), "beginning");
  workspace_ = memory_->allocate(kWorkspaceBytes);
}

namespace {

// Algorithms for so many rows, the fastest first by what the library expects; without any_neighbours those
// that add up a row's products in one block alone. `one_order`: the library is asked for no others, which
// also changes what it expects.
std::vector<cublasLtMatmulAlgo_t> algorithms(cublasLtHandle_t handle, const Matmul::Job& job,
                                             std::int64_t rows, bool one_order) {
  const Operands operands(job.product, job.inputs, rows, job.batch);
  Preference preference;
  make_preference(preference, one_order);
  std::array<cublasLtMatmulHeuristicResult_t, 16> found{};
  int count = 0;
  const cublasStatus_t status = cublas_lt().heuristic(
      handle, operands.desc.handle, operands.w.handle, operands.x.handle, operands.out.handle,
      operands.out.handle, preference.handle, static_cast<int>(found.size()), found.data(), &count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return {};
  check(status, "choosing an algorithm");
  std::vector<cublasLtMatmulAlgo_t> algorithms;
  for (int i = 0; i < count; ++i) {
    const cublasLtMatmulHeuristicResult_t& result = found[static_cast<std::size_t>(i)];
    if (result.state == CUBLAS_STATUS_SUCCESS && (job.any_neighbours || sums_in_one_block(result.algo)))
      algorithms.push_back(result.algo);
  }
  return algorithms;
}

}  // namespace

const Matmul::Plan& Matmul::usual_plan(const Job& job) {
  const Product& product = job.product;
  std::unique_ptr<Plan>& plan = plans_[{product.outputs, job.inputs, product.dtype}];
  if (plan) return *plan;
  Job one = alone(job, 0);
  one.any_neighbours = false;
  const auto found = algorithms(handle_, one, kUsualRows, true);
  if (found.empty())
    fail(ErrorCode::unsupported, "cuBLASLt has no algorithm for weights [{}, {}] of {}", product.outputs,
         job.inputs, dtype_name(product.dtype));
  plan = std::make_unique<Plan>(Plan{found.front()});
  return *plan;
}

const Matmul::Plan& Matmul::plan_for(const Job& job) {
  const auto rows = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(job.T)));
  const Product& product = job.product;
  const Job asked = job.any_neighbours ? alone(job, 0) : job;
  std::unique_ptr<Plan>& plan = plans_[{product.outputs, job.inputs, product.dtype, rows, job.any_neighbours,
                                        asked.batch.count, asked.batch.x == 0}];
  if (plan) return *plan;
  const Plan& usual = usual_plan(job);
  for (const cublasLtMatmulAlgo_t& algorithm : algorithms(handle_, asked, rows, false)) {
    const Plan found{algorithm};
    if (!job.any_neighbours && !same_bits(job, found, usual)) continue;
    plan = std::make_unique<Plan>(found);
    break;
  }
  if (!plan) plan = std::make_unique<Plan>(usual);
  return *plan;
}

// Makes the job's products both ways, somewhere else, and compares them.
bool Matmul::same_bits(const Job& job, const Plan& plan, const Plan& usual) const {
  constexpr std::int64_t kMostCompared = 1024;  // rows
  const std::int64_t T = std::min(job.T, kMostCompared), size = T * job.product.outputs,
                     all = job.batch.count * size;
  const Buffer room = memory_->allocate(2 * row_bytes(DType::f32, all) + sizeof(std::int32_t));
  auto* one = static_cast<float*>(room.tensor(DType::i8, {0}).data);
  auto* other = one + all;
  auto* differ = reinterpret_cast<std::int32_t*>(other + all);
  const auto make = [&](float* out, const Plan& by, bool together) {
    Job probe = job;
    probe.T = T;
    probe.product.out = out;
    probe.product.out_stride = job.product.outputs;
    probe.product.accumulate = false;
    probe.batch.out = job.batch.count > 1 ? size : 0;
    if (together) return start(probe, by);
    for (int i = 0; i < job.batch.count; ++i)
      if (!start(alone(probe, i), by)) return false;
    return true;
  };
  if (!make(one, plan, true) || !make(other, usual, false)) return false;
  std::int32_t found = 0;
  check(cudaMemsetAsync(differ, 0, sizeof found, memory_->stream()), "comparing algorithms");
  note_difference(memory_->stream(), differ, one, other, all);
  check(cudaMemcpyAsync(&found, differ, sizeof found, cudaMemcpyDeviceToHost, memory_->stream()),
        "comparing algorithms");
  check(cudaStreamSynchronize(memory_->stream()), "comparing algorithms");
  return found == 0;
}

bool Matmul::start(const Job& job, const Plan& plan) const {
  const Product& product = job.product;
  const Operands operands(product, job.inputs, job.T, job.batch);
  const float beta = product.accumulate ? 1.0f : 0.0f;
  const cublasStatus_t status = cublas_lt().matmul(
      handle_, operands.desc.handle, &product.scale, product.w, operands.w.handle, job.x, operands.x.handle,
      &beta, product.out, operands.out.handle, product.out, operands.out.handle, &plan.algo,
      workspace_.tensor(DType::i8, {0}).data, kWorkspaceBytes, memory_->stream());
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) return false;
  check(status, "multiplying");
  return true;
}

void Matmul::run(const Job& job) {
  open();
  if (start(job, plan_for(job))) return;
  if (job.batch.count > 1) {  // an algorithm that makes one product at a time
    for (int i = 0; i < job.batch.count; ++i) run(alone(job, i));
    return;
  }
  if (!start(job, usual_plan(job)))
    fail(ErrorCode::unsupported, "cuBLASLt does not multiply {} rows with weights [{}, {}] of {}", job.T,
         job.product.outputs, job.inputs, dtype_name(job.product.dtype));
}

std::string matmul_id() { return "cublaslt" + std::to_string(cublas_lt().version()); }

}  // namespace mplus::kernels::cuda
