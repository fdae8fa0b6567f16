# Libraries from outside, each as a gs_NAME target. Header-only ones are copied into the build folder,
# so that the wasm build sees them without /usr/include in front of wasi-libc. Versions and reasons:
# docs/dependencies.md; installation: tools/setup/setup.sh.

set(GS_THIRD_PARTY ${CMAKE_BINARY_DIR}/third_party/include)

# Makes NAME an interface target whose headers are the given files or folders of the system's include
# directory.
function(gs_header_only name)
  add_library(${name} INTERFACE)
  foreach(entry ${ARGN})
    find_path(${name}_dir ${entry} PATHS /usr/include NO_CMAKE_FIND_ROOT_PATH NO_CACHE)
    if(NOT ${name}_dir)
      message(FATAL_ERROR "${entry} is missing: run tools/setup/setup.sh")
    endif()
    # Copied once: a second copy would make everything that includes it rebuild.
    if(NOT EXISTS ${GS_THIRD_PARTY}/${name}/${entry})
      file(COPY ${${name}_dir}/${entry} DESTINATION ${GS_THIRD_PARTY}/${name})
    endif()
  endforeach()
  target_include_directories(${name} SYSTEM INTERFACE ${GS_THIRD_PARTY}/${name})
endfunction()

gs_header_only(gs_xxhash xxhash.h)
target_compile_definitions(gs_xxhash INTERFACE XXH_INLINE_ALL)

gs_header_only(gs_rapidjson rapidjson)
target_compile_definitions(gs_rapidjson INTERFACE RAPIDJSON_HAS_STDSTRING=1)
# Two changes to the copy. The release assigns to a const member, which clang 19 refuses; upstream has
# since deleted that operator. And its assertion must trap, not print, to stay small in wasm.
set(gs_json ${GS_THIRD_PARTY}/gs_rapidjson/rapidjson)
file(READ ${gs_json}/document.h text)
string(REPLACE "operator=(const GenericStringRef& rhs) { s = rhs.s; length = rhs.length; }"
               "operator=(const GenericStringRef& rhs) = delete;" patched "${text}")
if(NOT patched STREQUAL text)
  file(WRITE ${gs_json}/document.h "${patched}")
endif()
file(READ ${gs_json}/rapidjson.h text)
if(NOT text MATCHES "__builtin_trap")
  file(WRITE ${gs_json}/rapidjson.h
    "#define RAPIDJSON_ASSERT(x) ((x) ? (void)0 : __builtin_trap())\n${text}")
endif()

# nanopb: its C sources, fetched by tools/setup/nanopb.sh and pinned there by hash.
set(GS_NANOPB ${PROJECT_SOURCE_DIR}/third_party/cache/nanopb-0.4.7)
if(NOT EXISTS ${GS_NANOPB}/pb_decode.c)
  execute_process(COMMAND ${PROJECT_SOURCE_DIR}/tools/setup/nanopb.sh COMMAND_ERROR_IS_FATAL ANY)
endif()
add_library(gs_nanopb STATIC
  ${GS_NANOPB}/pb_common.c ${GS_NANOPB}/pb_decode.c ${GS_NANOPB}/pb_encode.c)
target_include_directories(gs_nanopb SYSTEM PUBLIC ${GS_NANOPB})
target_compile_definitions(gs_nanopb PUBLIC PB_FIELD_32BIT=1)

if(NOT GS_WASM)
  gs_header_only(gs_stb stb)
  gs_header_only(gs_cli11 CLI)
  # Used in one file, so not copied. Header-only: nothing of Boost is linked.
  find_path(GS_BOOST boost/beast.hpp)
  if(NOT GS_BOOST)
    message(FATAL_ERROR "Boost is missing: run tools/setup/setup.sh")
  endif()
  # Apart from the system's other headers, which may be another machine's.
  file(MAKE_DIRECTORY ${GS_THIRD_PARTY}/gs_boost)
  file(CREATE_LINK ${GS_BOOST}/boost ${GS_THIRD_PARTY}/gs_boost/boost SYMBOLIC)
  add_library(gs_boost INTERFACE)
  target_include_directories(gs_boost SYSTEM INTERFACE ${GS_THIRD_PARTY}/gs_boost)
  # Drivers themselves are found at run time.
  gs_header_only(gs_khronos CL EGL GLES3 KHR)
  find_package(Threads REQUIRED)
  if(GOSSAMER_TESTS AND CMAKE_CROSSCOMPILING)
    # The system's is of another machine; its sources are beside it.
    add_subdirectory(/usr/src/googletest/googletest ${CMAKE_BINARY_DIR}/third_party/googletest EXCLUDE_FROM_ALL)
  elseif(GOSSAMER_TESTS)
    find_package(GTest REQUIRED)
  endif()
  if(GOSSAMER_LLVM)
    find_program(GS_LLVM_CONFIG NAMES llvm-config-19 REQUIRED)
    execute_process(COMMAND ${GS_LLVM_CONFIG} --includedir OUTPUT_VARIABLE gs_llvm_include
                    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND ${GS_LLVM_CONFIG} --libdir OUTPUT_VARIABLE gs_llvm_lib
                    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    add_library(gs_llvm INTERFACE)
    target_include_directories(gs_llvm SYSTEM INTERFACE ${gs_llvm_include})
    target_link_libraries(gs_llvm INTERFACE ${gs_llvm_lib}/libLLVM-19.so)
  endif()
endif()
