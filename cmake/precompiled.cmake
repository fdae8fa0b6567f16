# Headers read once a build folder instead of once a source: the standard library, and for some targets what
# nearly all of their sources include anyway. Headers of ours are not among them elsewhere, so an edit still rebuilds
# what includes it and nothing more. Sources include what they use as if there were none of this: the
# sanitizers' build and clang-tidy (tools/check/style.mjs) read them so.

set(gs_precompiled ON)
if(GOSSAMER_SANITIZE OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(gs_precompiled OFF)
endif()
option(GOSSAMER_PRECOMPILED "Read common headers once" ${gs_precompiled})

# CMake would name the header too, by a path that ccache takes for another in every folder.
set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -include-pch <PCH_FILE>)

set(gs_standard_headers <algorithm> <array> <cmath> <cstdint> <cstring> <deque> <expected> <functional> <limits> <map>
    <memory> <numeric> <optional> <set> <span> <string> <string_view> <unordered_map> <unordered_set> <utility>
    <variant> <vector>)

# The target gs_read_NAME, whose headers gs_reads(TARGET NAME) takes. LIBRARIES give flags and folders, and must
# be such that what differs in the targets is only added.
function(gs_add_read name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HEADERS;LIBRARIES")
  if(NOT GOSSAMER_PRECOMPILED)
    return()
  endif()
  set(source ${CMAKE_BINARY_DIR}/precompiled/${name}.cc)
  if(NOT EXISTS ${source})
    file(WRITE ${source} "")
  endif()
  add_library(gs_read_${name} OBJECT EXCLUDE_FROM_ALL ${source})
  target_link_libraries(gs_read_${name} PRIVATE ${arg_LIBRARIES})
  target_precompile_headers(gs_read_${name} PRIVATE ${arg_HEADERS})
  target_compile_options(gs_read_${name} PRIVATE -Xclang -fno-pch-timestamp)
  # Not ccache: what the compiler writes here names this very folder.
  set_target_properties(gs_read_${name} PROPERTIES
    CXX_COMPILER_LAUNCHER "bash;${PROJECT_SOURCE_DIR}/cmake/precompile.sh")
endfunction()

function(gs_reads target name)
  if(TARGET gs_read_${name} AND TARGET ${target})
    target_precompile_headers(${target} REUSE_FROM gs_read_${name})
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "\\.c$")
    set_source_files_properties(${sources} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

gs_add_read(standard HEADERS ${gs_standard_headers} LIBRARIES gs_options)
# A hundred files, each an operator or a few.
gs_add_read(ops HEADERS ${gs_standard_headers} <ops/axes.h> <ops/elementwise.h> <ops/families.h> <ops/shape_checks.h> LIBRARIES gs_options gossamer_ir)
if(NOT GS_WASM)
  if(GOSSAMER_TESTS AND GOSSAMER_PRECOMPILED)
    gs_add_read(test HEADERS ${gs_standard_headers} <gtest/gtest.h> LIBRARIES gs_options GTest::gtest)
    # Tests are programs, not parts of libraries.
    set_target_properties(gs_read_test PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(gs_read_test PRIVATE ${CMAKE_CXX_COMPILE_OPTIONS_PIE})
  endif()
endif()

# Compiles up to eight sources of a folder as one: reading headers and making the same templates is more than half
# of what each of them takes alone. Names in their anonymous namespaces must differ; a source that uses a namespace
# whole stays alone.
function(gs_together target)
  if(NOT GOSSAMER_PRECOMPILED)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(source ${ARGN})
    cmake_path(GET source PARENT_PATH folder)
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${folder})
    string(MAKE_C_IDENTIFIER ${folder} name)
    list(APPEND folders ${name})
    list(APPEND in_${name} ${source})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(name ${folders})
    set(at 0)
    foreach(source ${in_${name}})
      file(STRINGS ${source} whole REGEX "^using namespace" LIMIT_COUNT 1)
      if(whole)
        continue()
      endif()
      math(EXPR group "${at} / 8")
      math(EXPR at "${at} + 1")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${name}_${group})
    endforeach()
  endforeach()
endfunction()
