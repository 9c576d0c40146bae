# libtorch as target mplus_torch: headers and the CPU libraries of the torch folder MPLUS_TORCH, which is
# what scripts/fetch_torch.sh fetched or any site-packages/torch ≥ 2.8. Torch's own CMake files are not used: those of a
# CUDA build look for a whole CUDA toolkit, also where only CPU code is to be built.
set(MPLUS_TORCH "" CACHE PATH "The torch folder (include, lib) for room train; empty: where scripts/fetch_torch.sh puts it")

if(NOT MPLUS_TORCH)
  execute_process(COMMAND "${PROJECT_SOURCE_DIR}/scripts/fetch_torch.sh" --path OUTPUT_VARIABLE mplus_torch
                  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
else()
  set(mplus_torch ${MPLUS_TORCH})
endif()
if(NOT EXISTS ${mplus_torch}/lib/libtorch_cpu.so)
  message(FATAL_ERROR "MPLUS_TRAIN needs libtorch, and ${mplus_torch}/lib/libtorch_cpu.so is not there. "
                      "Run scripts/fetch_torch.sh (890 MB), or name a torch: -DMPLUS_TORCH=<site-packages>/torch")
endif()

add_library(mplus_torch INTERFACE)
# Behind all other folders (and as system headers): the wheel brings headers of its own fmt and others, which must not
# stand before those our libraries were built with.
target_compile_options(mplus_torch INTERFACE "SHELL:-idirafter '${mplus_torch}/include'"
                                             "SHELL:-idirafter '${mplus_torch}/include/torch/csrc/api/include'")
target_link_libraries(mplus_torch INTERFACE ${mplus_torch}/lib/libtorch_cpu.so ${mplus_torch}/lib/libc10.so)
# A CUDA build of torch with a CUDA compiler beside it: kernels of our own, and the GPU libraries. They register
# themselves when loaded, so they are linked although nothing names them.
include(CheckLanguage)
check_language(CUDA)
if(CMAKE_CUDA_COMPILER AND EXISTS ${mplus_torch}/lib/libtorch_cuda.so)
  set(MPLUS_TRAIN_CUDA ON)
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES native)
  endif()
  enable_language(CUDA)
  find_package(CUDAToolkit REQUIRED)
  # The wheels that torch depends on bring NCCL's header, and a CUDA toolkit those of its libraries; where one is missing,
  # a run has one GPU.
  find_path(MPLUS_NCCL_INCLUDE nccl.h HINTS ${mplus_torch}/../nvidia/nccl/include)
  if(MPLUS_NCCL_INCLUDE)
    include(CheckCXXSourceCompiles)
    set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
    set(CMAKE_REQUIRED_FLAGS "-std=c++20 -idirafter '${mplus_torch}/include' -idirafter '${mplus_torch}/include/torch/csrc/api/include'")
    set(CMAKE_REQUIRED_INCLUDES ${MPLUS_NCCL_INCLUDE} ${CUDAToolkit_INCLUDE_DIRS})
    check_cxx_source_compiles("#define USE_C10D_NCCL\n#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>" MPLUS_NCCL_WORKS)
    unset(CMAKE_TRY_COMPILE_TARGET_TYPE)
    unset(CMAKE_REQUIRED_FLAGS)
    unset(CMAKE_REQUIRED_INCLUDES)
    if(MPLUS_NCCL_WORKS)
      set(MPLUS_TRAIN_NCCL ON)
    endif()
  endif()
  target_link_libraries(mplus_torch INTERFACE CUDA::cudart ${mplus_torch}/lib/libc10_cuda.so
                        "-Wl,--no-as-needed,${mplus_torch}/lib/libtorch_cuda.so,--as-needed")
endif()
# The aarch64 wheel keeps OpenBLAS and its Fortran library beside the torch folder.
target_link_options(mplus_torch INTERFACE -Wl,-rpath,${mplus_torch}/lib -Wl,-rpath-link,${mplus_torch}/../torch.libs)
