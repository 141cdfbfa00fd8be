# Everything from outside comes from Debian; packaging/debian-packages.txt names the packages.
find_package(Python3 3.11 COMPONENTS Interpreter REQUIRED)  # for tools/
find_package(Threads REQUIRED)
find_package(GTest REQUIRED)
find_package(rapidcheck CONFIG REQUIRED)
find_package(fmt REQUIRED)
find_package(Boost 1.81 REQUIRED)  # headers only: Describe and PFR
find_path(REEVE_XXHASH_INCLUDE xxhash.h REQUIRED)
mark_as_advanced(REEVE_XXHASH_INCLUDE)
find_path(REEVE_ZSTD_INCLUDE zstd.h REQUIRED)
find_library(REEVE_ZSTD_LIBRARY libzstd.a REQUIRED)
mark_as_advanced(REEVE_ZSTD_INCLUDE REEVE_ZSTD_LIBRARY)
find_path(REEVE_SQLITE_INCLUDE sqlite3.h REQUIRED)
find_library(REEVE_SQLITE_LIBRARY libsqlite3.a REQUIRED)
mark_as_advanced(REEVE_SQLITE_INCLUDE REEVE_SQLITE_LIBRARY)
find_path(REEVE_TOMLPLUSPLUS_INCLUDE toml++/toml.h REQUIRED)
mark_as_advanced(REEVE_TOMLPLUSPLUS_INCLUDE)
if(REEVE_BENCH)
  find_package(benchmark REQUIRED)
endif()

# Our own archive of Debian's {fmt}: cmake/fmt.cc says why.
add_library(fmt STATIC ${PROJECT_SOURCE_DIR}/cmake/fmt.cc)
target_include_directories(fmt SYSTEM PUBLIC
  $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)

# Inlined, xxHash sees the length of what it hashes, which is what makes it fast on short keys.
add_library(xxhash INTERFACE)
target_include_directories(xxhash SYSTEM INTERFACE ${REEVE_XXHASH_INCLUDE})
target_compile_definitions(xxhash INTERFACE XXH_INLINE_ALL)

# The archive, also where the shared library is there: the program is one file.
add_library(zstd INTERFACE)
target_include_directories(zstd SYSTEM INTERFACE ${REEVE_ZSTD_INCLUDE})
target_link_libraries(zstd INTERFACE ${REEVE_ZSTD_LIBRARY})

# The archive as well.
add_library(sqlite INTERFACE)
target_include_directories(sqlite SYSTEM INTERFACE ${REEVE_SQLITE_INCLUDE})
target_link_libraries(sqlite INTERFACE ${REEVE_SQLITE_LIBRARY} m ${CMAKE_DL_LIBS})

# Its headers alone, by way of base/toml.h: who reads TOML compiles them in, and nobody links a library.
add_library(tomlplusplus INTERFACE)
target_include_directories(tomlplusplus SYSTEM INTERFACE ${REEVE_TOMLPLUSPLUS_INCLUDE})
target_compile_definitions(tomlplusplus INTERFACE
  TOML_HEADER_ONLY=1 TOML_EXCEPTIONS=0 TOML_ENABLE_FORMATTERS=0)
