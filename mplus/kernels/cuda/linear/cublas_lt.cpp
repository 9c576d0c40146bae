#include "mplus/kernels/cuda/linear/cublas_lt.h"

#include <dlfcn.h>

#include <string>

#include "mplus/core/error.h"

namespace mplus::kernels::cuda {
namespace {

// The name the loader knows, then the folder of the toolkit this program was built with.
void* open_library() {
  const std::string name = "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR);
  for (const std::string& path : {name, std::string(MPLUS_CUDA_LIBRARIES) + "/" + name})
    if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  const char* reason = dlerror();
  fail(ErrorCode::unsupported, "{} cannot be loaded: {}; use the device cpu", name,
       reason ? reason : "no reason given");
}

template <class Function>
void find(void* library, Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function) fail(ErrorCode::unsupported, "this cuBLASLt has no {}; use the device cpu", name);
}

CublasLt load() {
  void* library = open_library();
  CublasLt api{};
  find(library, api.version, "cublasLtGetVersion");
  find(library, api.create, "cublasLtCreate");
  find(library, api.destroy, "cublasLtDestroy");
  find(library, api.matmul, "cublasLtMatmul");
  find(library, api.heuristic, "cublasLtMatmulAlgoGetHeuristic");
  find(library, api.algo_attribute, "cublasLtMatmulAlgoConfigGetAttribute");
  find(library, api.desc_create, "cublasLtMatmulDescCreate");
  find(library, api.desc_destroy, "cublasLtMatmulDescDestroy");
  find(library, api.desc_set, "cublasLtMatmulDescSetAttribute");
  find(library, api.layout_create, "cublasLtMatrixLayoutCreate");
  find(library, api.layout_destroy, "cublasLtMatrixLayoutDestroy");
  find(library, api.layout_set, "cublasLtMatrixLayoutSetAttribute");
  find(library, api.preference_create, "cublasLtMatmulPreferenceCreate");
  find(library, api.preference_destroy, "cublasLtMatmulPreferenceDestroy");
  find(library, api.preference_set, "cublasLtMatmulPreferenceSetAttribute");
  return api;
}

const char* name_of(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "not initialised";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "no memory";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "invalid value";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "not for this device";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "execution failed";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "not supported";
    default:
      return "internal error";
  }
}

}  // namespace

const CublasLt& cublas_lt() {
  static const CublasLt api = load();
  return api;
}

void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    fail(ErrorCode::io, "cuBLASLt failed while {}: {} ({})", what, name_of(status), static_cast<int>(status));
}

}  // namespace mplus::kernels::cuda
