#include "mplus/kernels/cuda/matmul.h"

#include <algorithm>
#include <array>
#include <bit>

#include "mplus/core/error.h"
#include "mplus/kernels/cuda/cublas_lt.h"

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

  // `twin`: a second product of the same shape and the same x.
  Operands(const Product& product, std::int64_t inputs, std::int64_t T, const Product* twin = nullptr) {
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
    if (!twin) return;
    set_batch(w, static_cast<const std::uint16_t*>(twin->w) - static_cast<const std::uint16_t*>(product.w));
    set_batch(x, 0);
    set_batch(out, twin->out - product.out);
  }

 private:
  static void set_batch(const Layout& layout, std::int64_t offset) {
    const std::int32_t two = 2;
    const auto set = [&](cublasLtMatrixLayoutAttribute_t what, const auto& value) {
      check(cublas_lt().layout_set(layout.handle, what, &value, sizeof value), "describing two products");
    };
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, two);
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, offset);
  }
};

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

void Matmul::open() {
  if (handle_) return;
  check(cublas_lt().create(&handle_), "beginning");
  workspace_ = memory_->allocate(kWorkspaceBytes);
}

const Matmul::Plan& Matmul::plan_for(const Job& job) {
  const std::int64_t rows =
      job.any_neighbours ? static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(job.T))) : 0;
  const Product& product = job.product;
  std::unique_ptr<Plan>& plan = plans_[{product.outputs, job.inputs, product.dtype, rows}];
  if (plan) return *plan;
  const Operands operands(product, job.inputs, rows == 0 ? kUsualRows : rows);
  Preference preference;
  make_preference(preference, rows == 0);
  std::array<cublasLtMatmulHeuristicResult_t, 16> found{};
  int count = 0;
  check(cublas_lt().heuristic(handle_, operands.desc.handle, operands.w.handle, operands.x.handle,
                              operands.out.handle, operands.out.handle, preference.handle,
                              static_cast<int>(found.size()), found.data(), &count),
        "choosing an algorithm");
  for (int i = 0; i < count && !plan; ++i) {
    const cublasLtMatmulHeuristicResult_t& result = found[static_cast<std::size_t>(i)];
    if (result.state == CUBLAS_STATUS_SUCCESS && (rows != 0 || sums_in_one_block(result.algo)))
      plan = std::make_unique<Plan>(Plan{result.algo});
  }
  if (!plan)
    fail(ErrorCode::unsupported, "cuBLASLt has no algorithm for weights [{}, {}] of {}", product.outputs,
         job.inputs, dtype_name(product.dtype));
  return *plan;
}

void Matmul::run(const Job& job) {
  open();
  const Plan& plan = plan_for(job);
  const Product& product = job.product;
  const Operands operands(product, job.inputs, job.T, job.twin);
  const float beta = product.accumulate ? 1.0f : 0.0f;
  const cublasStatus_t status = cublas_lt().matmul(
      handle_, operands.desc.handle, &product.scale, product.w, operands.w.handle, job.x, operands.x.handle,
      &beta, product.out, operands.out.handle, product.out, operands.out.handle, &plan.algo,
      workspace_.tensor(DType::i8, {0}).data, kWorkspaceBytes, memory_->stream());
  if (status == CUBLAS_STATUS_SUCCESS || !job.twin) return check(status, "multiplying");
  Job alone = job;  // an algorithm that makes one product at a time
  alone.twin = nullptr;
  run(alone);
  alone.product = *job.twin;
  run(alone);
}

std::string matmul_id() { return "cublaslt" + std::to_string(cublas_lt().version()); }

}  // namespace mplus::kernels::cuda
