# Kernels for NVIDIA GPUs: MPLUS_CUDA, on where nvcc and its libraries are found. A GPU is not needed to build.
# nvcc is called as a plain command: CUDA is no language of the project, so that nothing but these objects is compiled or
# linked by it.
find_package(CUDAToolkit 12.0 QUIET)
find_path(MPLUS_CUBLAS_INCLUDE cublasLt.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
set(mplus_cuda_possible OFF)
if(CUDAToolkit_NVCC_EXECUTABLE AND TARGET CUDA::cudart_static AND MPLUS_CUBLAS_INCLUDE
   AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT MPLUS_SANITIZE AND NOT MPLUS_PORTABLE_KERNELS)
  set(mplus_cuda_possible ON)
endif()
option(MPLUS_CUDA "Kernels for NVIDIA GPUs (needs nvcc)" ${mplus_cuda_possible})
set(MPLUS_CUDA_ARCHITECTURES "90" CACHE STRING "Architectures to build kernels for, e.g. 80;89;90;100;120")

# mplus_cuda_objects(OBJECTS SOURCES…): compiles .cu files of the current folder, each with its COMPILE_OPTIONS, and puts the
# objects' paths into OBJECTS.
function(mplus_cuda_objects out)
  set(flags -std=c++20 -O3 -Xcompiler=-fPIC -I${PROJECT_SOURCE_DIR} -ccbin ${CMAKE_CXX_COMPILER})
  foreach(architecture ${MPLUS_CUDA_ARCHITECTURES})
    if(architecture STREQUAL "90")
      set(architecture 90a) # with the warpgroup's matrix instruction; runs wherever sm_90 does
    endif()
    list(APPEND flags -gencode=arch=compute_${architecture},code=sm_${architecture})
  endforeach()
  if(MPLUS_WERROR)
    list(APPEND flags -Werror=all-warnings)
  endif()
  set(objects)
  foreach(source ${ARGN})
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${source}.o)
    get_filename_component(folder ${object} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    get_source_file_property(own_flags ${source} COMPILE_OPTIONS)
    if(NOT own_flags)
      set(own_flags)
    endif()
    add_custom_command(OUTPUT ${object}
      COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${CUDAToolkit_NVCC_EXECUTABLE} ${flags} ${own_flags} -MD -MF ${object}.d
              -c ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${object}
      DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${source} DEPFILE ${object}.d
      COMMENT "Building CUDA object ${source}.o" VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  set(${out} ${objects} PARENT_SCOPE)
endfunction()
