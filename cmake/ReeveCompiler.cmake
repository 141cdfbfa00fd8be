# What every file of ours is compiled with. Not among the warnings: -Wnull-dereference, which cries
# wolf when g++ 12 optimises, and -Wmaybe-uninitialized, which then takes the inactive alternatives
# of a variant for uninitialised values; and what the standard library of g++ 12 says of itself to
# clang, whose std::stable_sort stands on what was deprecated.
add_library(reeve_warnings INTERFACE)
target_compile_options(reeve_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast
  -Wcast-qual -Wnon-virtual-dtor -Woverloaded-virtual -Wextra-semi
  $<$<CXX_COMPILER_ID:GNU>:-Wduplicated-cond -Wduplicated-branches -Wlogical-op
    -Wno-maybe-uninitialized>
  $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)

# g++ begins to collect its garbage at 128 MiB, and does little else while it reads large templates;
# with more room a unit of the core is compiled in 5 to 8 % less time.
add_compile_options("$<$<CXX_COMPILER_ID:GNU>:SHELL:--param ggc-min-heapsize=524288>")

# Paths in messages and debug information are relative to the tree: a failed CHECK reads
# src/core/lock.cc:41 on every machine. The second map is for ccache, which makes paths relative
# to the build directory before the compiler sees them, so that two clones share one cache.
cmake_path(RELATIVE_PATH PROJECT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_BINARY_DIR}
  OUTPUT_VARIABLE source_from_build)
add_compile_options(
  -ffile-prefix-map=${PROJECT_SOURCE_DIR}/= -ffile-prefix-map=${source_from_build}/=)

# ccache sees through precompiled headers only when it is told not to mind the header's time, and
# when the preprocessor says that it used one. It goes by the text of the files, never by what the
# preprocessor leaves of them: a precompiled header knows what it has read by the whole text, and
# one from before a comment changed would let the file in a second time. (It is quicker, too.) The
# settings travel with the command, so that a developer's own ccache configuration cannot disagree
# with the build.
find_program(REEVE_CCACHE ccache)
mark_as_advanced(REEVE_CCACHE)
if(REEVE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
    CCACHE_DEPEND=1
    ${REEVE_CCACHE})
endif()
add_compile_options("$<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>"
  "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
