# Warnings, sanitizers and ccache for every target of the project.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths below the source tree count as relative: another clone or build folder finds the same objects.
  # Where there is no home folder, the cache goes into the tree's own.
  set(mplus_ccache_folder)
  execute_process(COMMAND ${CCACHE_PROGRAM} --get-config cache_dir OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE
                  ERROR_QUIET)
  execute_process(COMMAND ${CMAKE_COMMAND} -E make_directory "${folder}/tmp" RESULT_VARIABLE failed ERROR_QUIET)
  if(failed)
    set(mplus_ccache_folder CCACHE_DIR=${PROJECT_SOURCE_DIR}/build/ccache)
  endif()
  # What it must be told of precompiled headers: they may hold macros that are defined again, and times.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
                                  CCACHE_SLOPPINESS=pch_defines,time_macros ${mplus_ccache_folder} ${CCACHE_PROGRAM})
endif()

add_library(mplus_options INTERFACE)
target_compile_options(mplus_options INTERFACE -Wall -Wextra -Wshadow -Wconversion)
if(MPLUS_WERROR)
  target_compile_options(mplus_options INTERFACE -Werror)
endif()
# Files that are compiled as one look like headers to GCC, of whose types nothing local may be a part.
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(mplus_options INTERFACE -Wno-subobject-linkage)
endif()
# A product and a sum are fused only where a kernel says so: values must not depend on the compiler's taste.
target_compile_options(mplus_options INTERFACE -ffp-contract=off)
if(MPLUS_SANITIZE)
  target_compile_options(mplus_options INTERFACE -fsanitize=${MPLUS_SANITIZE} -fno-omit-frame-pointer
                                                 -fno-sanitize-recover=all)
  target_link_options(mplus_options INTERFACE -fsanitize=${MPLUS_SANITIZE})
  # On x86_64 clang 14 cannot put this check of function pointers in front of a coroutine's parts.
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND MPLUS_SANITIZE MATCHES "undefined")
    target_compile_options(mplus_options INTERFACE -fno-sanitize=function)
  endif()
endif()

# The standard library is nine tenths of what a file of ours reads: it is compiled once for the rooms, once for programs and
# once, with the test library, for tests, since these three are not compiled alike. No header of the project is in it.
set(mplus_standard_headers <algorithm> <array> <atomic> <charconv> <chrono> <cmath> <cstdint> <cstring> <filesystem>
    <fstream> <functional> <limits> <map> <memory> <mutex> <numeric> <optional> <random> <set> <span> <string>
    <string_view> <thread> <unordered_map> <utility> <vector> <fmt/format.h>)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled.cpp CONTENT "// Only here to precompile headers.\n")

# For whatever uses one. GCC forgets that a precompiled header is the system's, and warns of strings that the library itself
# moves (its bug 105651 and the like). Kernels are compiled without and keep these warnings.
set(mplus_precompiled_options)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(mplus_precompiled_options -fpch-preprocess -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow
                                -Wno-stringop-overread)
endif()

function(mplus_precompiled name)
  add_library(${name} OBJECT ${PROJECT_BINARY_DIR}/precompiled.cpp)
  target_link_libraries(${name} PRIVATE mplus_options fmt::fmt)
  target_precompile_headers(${name} PRIVATE ${ARGN})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${name} PRIVATE -fpch-preprocess) # for ccache
  else()
    target_compile_options(${name} PRIVATE "SHELL:-Xclang -fno-pch-timestamp") # so that ccache finds it again
  endif()
endfunction()

mplus_precompiled(mplus_precompiled ${mplus_standard_headers})

# mplus_use_precompiled(TARGET [WITH]): for targets that are compiled as all others of their sort.
function(mplus_use_precompiled target)
  set(with mplus_precompiled)
  if(ARGC GREATER 1)
    set(with ${ARGV1})
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF) # as the compiler does by itself
  endif()
  target_precompile_headers(${target} REUSE_FROM ${with})
  target_compile_options(${target} PRIVATE ${mplus_precompiled_options})
endfunction()

# For files that are compiled more often than they matter: programs and tests. Loops over many numbers in a test still need
# some optimising, and are few under a sanitizer.
set(mplus_quick_to_build -O1)
if(MPLUS_SANITIZE)
  set(mplus_quick_to_build -O0)
endif()

# mplus_program_options(TARGET): for programs. They read commands and print; nothing in their own files computes, and CLI11
# takes twice as long to compile when it is optimised. (Precompiled it would be instantiated in every file.)
mplus_precompiled(mplus_precompiled_programs ${mplus_standard_headers})
target_compile_options(mplus_precompiled_programs PRIVATE ${mplus_quick_to_build})
set_target_properties(mplus_precompiled_programs PROPERTIES POSITION_INDEPENDENT_CODE OFF)
function(mplus_program_options target)
  target_compile_options(${target} PRIVATE ${mplus_quick_to_build})
  mplus_use_precompiled(${target} mplus_precompiled_programs)
endfunction()
