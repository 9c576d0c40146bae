# Warnings, sanitizers and ccache for every target of the project.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths below the source tree count as relative: another clone or build folder finds the same objects.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
                                  ${CCACHE_PROGRAM})
endif()

add_library(mplus_options INTERFACE)
target_compile_options(mplus_options INTERFACE -Wall -Wextra -Wshadow -Wconversion)
if(MPLUS_WERROR)
  target_compile_options(mplus_options INTERFACE -Werror)
endif()
# A product and a sum are fused only where a kernel says so: values must not depend on the compiler's taste.
target_compile_options(mplus_options INTERFACE -ffp-contract=off)
if(MPLUS_SANITIZE)
  target_compile_options(mplus_options INTERFACE -fsanitize=${MPLUS_SANITIZE} -fno-omit-frame-pointer
                                                 -fno-sanitize-recover=all)
  target_link_options(mplus_options INTERFACE -fsanitize=${MPLUS_SANITIZE})
endif()
