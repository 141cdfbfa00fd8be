include(GoogleTest)

# Two precompiled headers serve the whole tree, one for code and one for tests, so that a new folder
# costs nothing. They carry what nearly every file reads anyway. A file still includes what it
# uses: the clang preset builds without them and finds the one that does not.
set(REEVE_PCH_HEADERS
  <algorithm> <chrono> <compare> <cstdint> <functional> <map> <memory> <optional> <string>
  <variant> <vector> <fmt/format.h>)

# Tests are compiled for a short build: what they test is what is optimised, and a failed
# expectation names its line by itself. The sanitizers keep the lines for their backtraces.
set(REEVE_TEST_OPTIONS $<$<CONFIG:RelWithDebInfo>:-Og> $<$<CONFIG:RelWithDebInfo>:-g0>)

function(reeve_pch_target name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HEADERS;WITH;OPTIONS")
  set(source ${PROJECT_BINARY_DIR}/${name}.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "// Only its precompiled header matters.\n")
  add_library(${name} OBJECT ${source})
  target_link_libraries(${name} PRIVATE reeve_warnings ${arg_WITH})
  target_compile_options(${name} PRIVATE ${arg_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
endfunction()

reeve_pch_target(reeve_pch HEADERS ${REEVE_PCH_HEADERS} WITH fmt)
set(REEVE_TEST_PCH_HEADERS <gtest/gtest.h> <rapidcheck.h> <rapidcheck/gtest.h>)
reeve_pch_target(reeve_test_pch
  HEADERS ${REEVE_PCH_HEADERS} ${REEVE_TEST_PCH_HEADERS}
  WITH fmt GTest::gtest rapidcheck_gtest OPTIONS ${REEVE_TEST_OPTIONS})

# Eight files in one go are compiled in two thirds of the time: what they include and instantiate is
# so only once. What has planted bugs stays alone, because it is exchanged alone. The paths in the
# written files begin at the root of includes, so that every clone finds them in its ccache. Who is
# about to compile a few files again and again names them in REEVE_ALONE; the others stay where they
# are.
option(REEVE_TOGETHER "Compile files of a folder together where they can be" ON)
set(REEVE_ALONE "" CACHE STRING "Files that are compiled by themselves all the same, from the root")
function(reeve_together result name root apart)
  if(NOT REEVE_TOGETHER)
    set(${result} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(written "")
  set(text "")
  set(in_text 0)
  set(number 0)
  list(TRANSFORM REEVE_ALONE PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE alone)
  list(LENGTH ARGN left)
  foreach(source IN LISTS ARGN)
    math(EXPR left "${left} - 1")
    file(STRINGS ${source} planted REGEX "#include \"base/planted.h\"")
    if(planted OR (apart AND source MATCHES "${apart}"))
      list(APPEND written ${source})
    else()
      if(source IN_LIST alone)
        list(APPEND written ${source})
      else()
        cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${root} OUTPUT_VARIABLE path)
        string(APPEND text "#include \"${path}\"\n")
      endif()
      math(EXPR in_text "${in_text} + 1")
    endif()
    if(in_text EQUAL 8 OR (left EQUAL 0 AND in_text GREATER 0))
      if(text)
        set(file ${PROJECT_BINARY_DIR}/together/${name}_${number}.cc)
        file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
        list(APPEND written ${file})
      endif()
      set(text "")
      set(in_text 0)
      math(EXPR number "${number} + 1")
    endif()
  endforeach()
  set(${result} ${written} PARENT_SCOPE)
endfunction()

# reeve_library(<name> [BESIDE_SRC] [TOGETHER [APART <regex>]] [TESTS_TOGETHER] [USES <folder>...]
#               [WITH <outside>...]
#               [PCH <header> | PCH_FROM <folder>] [TEST_PCH <header> | TEST_PCH_FROM <folder>])
#
# src/<name>/*.cc and one folder further down, or <name>/*.cc with BESIDE_SRC, becomes the library
# <name>; its *_test.cc, with what they share in testing.cc or *_testing.cc, the test program
# <name>_test, whose tests carry <name> as their label and find the golden files at $REEVE_GOLDEN.
# main.cc belongs to programs. A folder of headers, or one without tests yet, is fine: every build
# looks again. PCH and TEST_PCH name a header of ours that nearly every file of the folder, or of its
# tests, reads: large ones are worth a precompiled header of their own. PCH_FROM and TEST_PCH_FROM
# name another folder whose one serves here, too. TOGETHER: no two of its files call different things
# by one name, but for those that match APART, so that several can be compiled in one go;
# TESTS_TOGETHER: nor do its tests.
function(reeve_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "BESIDE_SRC;TOGETHER;TESTS_TOGETHER"
    "PCH;PCH_FROM;TEST_PCH;TEST_PCH_FROM;APART" "USES;WITH")
  set(root ${PROJECT_SOURCE_DIR}/src)
  if(arg_BESIDE_SRC)
    set(root ${PROJECT_SOURCE_DIR})
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${root}/${name}/*.cc ${root}/${name}/*/*.cc)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "(_test|[/_]testing)\\.cc$")
  list(FILTER sources EXCLUDE REGEX "(_test|[/_]testing|/main)\\.cc$")

  if(sources)
    if(arg_TOGETHER)
      reeve_together(sources ${name} ${root} "${arg_APART}" ${sources})
    endif()
    add_library(${name} STATIC ${sources})
    target_include_directories(${name} PUBLIC ${root})
    target_link_libraries(${name} PUBLIC ${arg_USES} PRIVATE reeve_warnings ${arg_WITH})
    if(arg_PCH)
      target_precompile_headers(${name} PRIVATE ${REEVE_PCH_HEADERS} <${arg_PCH}>)
    elseif(arg_PCH_FROM)
      target_precompile_headers(${name} REUSE_FROM ${arg_PCH_FROM})
    else()
      target_precompile_headers(${name} REUSE_FROM reeve_pch)
    endif()
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${root})
    target_link_libraries(${name} INTERFACE ${arg_USES} ${arg_WITH})
  endif()
  set_property(GLOBAL APPEND PROPERTY REEVE_LIBRARIES ${name})

  if(tests)
    set(test_sources ${tests})
    if(arg_TESTS_TOGETHER)
      reeve_together(test_sources ${name}_test ${root} "" ${tests})
    endif()
    add_executable(${name}_test ${test_sources})
    target_link_libraries(${name}_test PRIVATE
      ${name} ${arg_WITH} reeve_warnings GTest::gtest_main rapidcheck_gtest Threads::Threads)
    target_compile_options(${name}_test PRIVATE ${REEVE_TEST_OPTIONS})
    if(arg_TEST_PCH)
      target_precompile_headers(${name}_test PRIVATE
        ${REEVE_PCH_HEADERS} ${REEVE_TEST_PCH_HEADERS} <${arg_TEST_PCH}>)
    elseif(arg_TEST_PCH_FROM)
      target_precompile_headers(${name}_test REUSE_FROM ${arg_TEST_PCH_FROM}_test)
    else()
      target_precompile_headers(${name}_test REUSE_FROM reeve_test_pch)
    endif()
    gtest_discover_tests(${name}_test
      DISCOVERY_MODE PRE_TEST
      PROPERTIES LABELS ${name} TIMEOUT 600
        ENVIRONMENT REEVE_GOLDEN=${PROJECT_SOURCE_DIR}/tests/golden)
    reeve_laws(${name} ${tests})
  endif()
endfunction()

# The laws (RapidCheck) of a test program are played from one seed with its other tests; here once
# more from each of a few others. A law that is new counts when the build was configured again.
function(reeve_laws name)
  set(laws "")
  foreach(test IN LISTS ARGN)
    file(STRINGS ${test} lines REGEX "^RC_GTEST_PROP\\(")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^RC_GTEST_PROP\\(([A-Za-z0-9]+), ([A-Za-z0-9]+),.*$" "\\1.\\2" law "${line}")
      list(APPEND laws ${law})
    endforeach()
  endforeach()
  if(NOT laws)
    return()
  endif()
  list(JOIN laws ":" filter)
  foreach(seed RANGE 2 5)
    add_test(NAME ${name}.laws_from_seed_${seed} COMMAND ${name}_test --gtest_filter=${filter})
    set_tests_properties(${name}.laws_from_seed_${seed} PROPERTIES LABELS ${name} TIMEOUT 600
      ENVIRONMENT "RC_PARAMS=seed=${seed};REEVE_GOLDEN=${PROJECT_SOURCE_DIR}/tests/golden")
  endforeach()
endfunction()

# The program lies at the root of the build directory, where people look for it. Its version is
# defined for the one file that prints it, so that a new version does not rebuild the house.
function(reeve_program name main)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "USES")
  add_executable(${name} ${main})
  target_link_libraries(${name} PRIVATE ${arg_USES} reeve_warnings)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  set_source_files_properties(${main} PROPERTIES
    COMPILE_DEFINITIONS "REEVE_VERSION=\"${PROJECT_VERSION}\"")
  if(REEVE_STATIC)
    # At a fixed address: as -static-pie each start of the program wrote 16,000 addresses into 80
    # pages, and that was a fifth of a command that pushes (docs/performance.md).
    target_link_options(${name} PRIVATE -static -no-pie)
  else()
    target_link_options(${name} PRIVATE -static-libstdc++ -static-libgcc)
  endif()
endfunction()

# The program once more, with the planted bugs of base/planted.h in those files of the libraries FROM
# that have some. They are compiled anew and linked before the libraries, which so lend all of
# their other files and none of these: every other file is the one of the real program.
function(reeve_planted name main)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "USES;FROM")
  add_executable(${name} EXCLUDE_FROM_ALL ${main})
  foreach(library IN LISTS arg_FROM)
    get_target_property(sources ${library} SOURCES)
    foreach(source IN LISTS sources)
      file(STRINGS ${source} planted REGEX "#include \"base/planted.h\"")
      if(planted)
        target_sources(${name} PRIVATE ${source})
      endif()
    endforeach()
  endforeach()
  target_compile_definitions(${name} PRIVATE REEVE_PLANTED)
  target_link_libraries(${name} PRIVATE ${arg_USES} fmt xxhash zstd Boost::headers reeve_warnings)
  target_precompile_headers(${name} PRIVATE ${REEVE_PCH_HEADERS} <core/turn.h>)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
endfunction()

# Every <folder>/<x>.cc is a program demo_<x>.
function(reeve_demos folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "USES")
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cc)
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM stem)
    add_executable(demo_${stem} ${source})
    target_include_directories(demo_${stem} PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(demo_${stem} PRIVATE ${arg_USES} fmt reeve_warnings)
    target_precompile_headers(demo_${stem} REUSE_FROM reeve_pch)
  endforeach()
endfunction()

# Every <x>_bench.cc in <folder> or one below is a program <x>_bench; `benches` builds them all. A
# benchmark that wants its own main() writes one; the linker then leaves Google Benchmark's alone.
function(reeve_benchmarks folder)
  if(NOT REEVE_BENCH)
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/${folder}/*_bench.cc ${PROJECT_SOURCE_DIR}/${folder}/*/*_bench.cc)
  get_property(libraries GLOBAL PROPERTY REEVE_LIBRARIES)
  add_custom_target(benches)
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM stem)
    add_executable(${stem} EXCLUDE_FROM_ALL ${source})
    add_dependencies(benches ${stem})
    target_include_directories(${stem} PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${stem} PRIVATE
      ${libraries} fmt reeve_warnings benchmark::benchmark_main benchmark::benchmark)
    target_precompile_headers(${stem} REUSE_FROM reeve_pch)
  endforeach()
endfunction()

# The load generator that drives Reeve and its peers alike: <folder>/*.cc.
function(reeve_peers folder)
  if(NOT REEVE_BENCH)
    return()
  endif()
  find_library(REEVE_SQLITE sqlite3)
  mark_as_advanced(REEVE_SQLITE)
  if(NOT REEVE_SQLITE)
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cc)
  add_executable(peers_load EXCLUDE_FROM_ALL ${sources})
  target_include_directories(peers_load PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(peers_load PRIVATE ${REEVE_SQLITE} fmt reeve_warnings Threads::Threads)
endfunction()

# Every <folder>/<x>_fuzz.cc is a libFuzzer target <x>_fuzz; `fuzzers` builds them all. A line
# "// Links: journal codec" in it names the libraries it needs, and one "// Adds: sim/disk.cc" single
# files, so that nobody waits for others.
function(reeve_fuzzers folder)
  if(NOT REEVE_FUZZ)
    return()
  endif()
  add_custom_target(fuzzers)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*_fuzz.cc)
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM stem)
    file(STRINGS ${source} links REGEX "^// Links: ")
    string(REGEX REPLACE "^// Links: *" "" links "${links}")
    separate_arguments(links)
    file(STRINGS ${source} adds REGEX "^// Adds: ")
    string(REGEX REPLACE "^// Adds: *" "" adds "${adds}")
    separate_arguments(adds)
    add_executable(${stem} EXCLUDE_FROM_ALL ${source} ${adds})
    target_include_directories(${stem} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${stem} PRIVATE ${links} fmt reeve_warnings)
    target_link_options(${stem} PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzzers ${stem})
  endforeach()
endfunction()

# Every <folder>/<x>_test.sh is a test against the program itself, which it finds as $REEVE. What it
# needs beside it, every <folder>/<x>_driver.cc, is a program in $REEVE_BUILD. They mostly wait, and so
# begin before the tests that compute; LONG names those that would otherwise be waited for at the end.
function(reeve_scripts folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "USES;LONG")
  file(GLOB drivers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*_driver.cc)
  foreach(driver IN LISTS drivers)
    cmake_path(GET driver STEM stem)
    add_executable(${stem} ${driver})
    target_link_libraries(${stem} PRIVATE ${arg_USES} fmt reeve_warnings Threads::Threads)
  endforeach()
  file(GLOB scripts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*_test.sh)
  foreach(script IN LISTS scripts)
    cmake_path(GET script STEM stem)
    set(cost 10)
    if(stem IN_LIST arg_LONG)
      set(cost 60)
    endif()
    add_test(NAME ${folder}.${stem} COMMAND bash ${script})
    set_tests_properties(${folder}.${stem} PROPERTIES
      LABELS ${folder} TIMEOUT 600 COST ${cost}
      ENVIRONMENT
        "REEVE=$<TARGET_FILE:reeve>;REEVE_VERSION=${PROJECT_VERSION};REEVE_BUILD=${PROJECT_BINARY_DIR}")
  endforeach()
endfunction()

# The tools that guard the tree are tests like any other, and each is shown to bite. PURE names the
# libraries whose compiled code may not ask anything of the system.
function(reeve_guards)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "PURE")
  set(tools ${PROJECT_SOURCE_DIR}/tools)
  add_test(NAME tools.layering COMMAND Python3::Interpreter ${tools}/layering)
  add_test(NAME tools.layering_bites COMMAND Python3::Interpreter ${tools}/layering_test)
  add_test(NAME tools.mutants_fit COMMAND Python3::Interpreter ${tools}/mutants --lint)
  add_test(NAME tools.mutants_bite COMMAND Python3::Interpreter ${tools}/mutants_test)
  set(tests tools.layering tools.layering_bites tools.mutants_fit tools.mutants_bite)
  foreach(library IN LISTS arg_PURE)
    get_target_property(type ${library} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
      add_test(NAME tools.purity_of_${library}
        COMMAND Python3::Interpreter ${tools}/layering --symbols $<TARGET_FILE:${library}>)
      list(APPEND tests tools.purity_of_${library})
    endif()
  endforeach()
  set_tests_properties(${tests} PROPERTIES LABELS tools TIMEOUT 300)
endfunction()
