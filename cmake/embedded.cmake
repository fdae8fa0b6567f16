# The run time in C inside the compiler (src/library/run_time.h): as it is written and, compiled by the
# clang of the LLVM that reads it, as bitcode for this machine and for wasm.

if(GS_WASM)
  return()
endif()
set(gs_embedded ${PROJECT_SOURCE_DIR}/runtime/embedded)
set(gs_made ${CMAKE_BINARY_DIR}/embedded)
file(MAKE_DIRECTORY ${gs_made})

# NAME in run_time.h, from a file that is there or is made.
function(gs_embed name file)
  set(source ${gs_made}/${name}.cc)
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DNAME=${name} -DFILE=${file} -DOUTPUT=${source}
            -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${file} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake VERBATIM)
  target_sources(gossamer_library PRIVATE ${source})
endfunction()

target_compile_definitions(gossamer_library PRIVATE GOSSAMER_VERSION="${PROJECT_VERSION}")
foreach(text program.h model.h model.c host.c one_thread.c)
  string(REPLACE "." "_" name text_${text})
  gs_embed(${name} ${gs_embedded}/${text})
endforeach()
if(NOT GOSSAMER_LLVM)
  return()
endif()
find_program(GS_CLANG NAMES clang-19 REQUIRED)
find_program(GS_CLANGXX NAMES clang++-19 REQUIRED)

# Nothing in it is known outside of what it becomes part of.
function(gs_embed_code name file)
  add_custom_command(OUTPUT ${gs_made}/${name}.bc
    COMMAND ${GS_CLANG} -std=c11 -Wall -Wextra -Werror -fPIC -fvisibility=hidden -ffp-contract=off
            -fno-stack-protector -fno-ident -fno-builtin-malloc ${ARGN} -emit-llvm -c
            ${gs_embedded}/${file} -o ${gs_made}/${name}.bc
    DEPENDS ${gs_embedded}/${file} ${gs_embedded}/model.h ${gs_embedded}/program.h VERBATIM)
  gs_embed(${name} ${gs_made}/${name}.bc)
endfunction()

set(gs_wasm_flags --target=wasm32-wasi -Oz -msimd128 -mbulk-memory -msign-ext -mnontrapping-fptoint)
gs_embed_code(native_model model.c -O2)
gs_embed_code(native_host host.c -O2)
gs_embed_code(native_threads threads.c -O2 -D_GNU_SOURCE)
gs_embed_code(wasm_model model.c ${gs_wasm_flags})
gs_embed_code(wasm_host host.c ${gs_wasm_flags})
gs_embed_code(wasm_gpu gpu.c ${gs_wasm_flags})
gs_embed_code(wasm_one_thread one_thread.c ${gs_wasm_flags})
gs_embed_code(wasm_program program.c ${gs_wasm_flags})
gs_embed_code(wasm_threads wasi_threads.c ${gs_wasm_flags} -matomics)
gs_embed_code(wasm_component component.c ${gs_wasm_flags})

# The service of a component (serve/component), with what it takes of the libraries for wasm: an
# object that is linked with a model's.
set(gs_service_objects)
foreach(source serve/component/wasi_http.cc serve/component/model.cc serve/front.cc
        serve/datatypes.cc serve/read_request.cc serve/write_response.cc runtime/string_ports.cc
        runtime/shape_text.cc net/secret.cc src/base/strings.cc src/base/result.cc src/ir/type.cc
        src/ir/scalar.cc src/ir/small_float.cc)
  string(REPLACE "/" "_" object ${source})
  set(object ${gs_made}/service/${object}.o)
  add_custom_command(OUTPUT ${object}
    COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${GS_CLANGXX} ${gs_wasm_flags} -std=c++23 -Wall -Wextra
            -Werror -ffp-contract=off -fno-exceptions -fno-rtti -fvisibility=hidden -DNDEBUG
            -DRAPIDJSON_HAS_STDSTRING=1 -DGOSSAMER_VERSION="${PROJECT_VERSION}"
            -I${PROJECT_SOURCE_DIR} -I${PROJECT_SOURCE_DIR}/src -I${PROJECT_SOURCE_DIR}/include
            -isystem ${CMAKE_BINARY_DIR}/third_party/include/gs_rapidjson
            -ffile-prefix-map=${PROJECT_SOURCE_DIR}/= -MD -MF ${object}.d
            -c ${PROJECT_SOURCE_DIR}/${source} -o ${object}
    DEPENDS ${PROJECT_SOURCE_DIR}/${source} DEPFILE ${object}.d VERBATIM)
  list(APPEND gs_service_objects ${object})
endforeach()
file(MAKE_DIRECTORY ${gs_made}/service)
add_custom_command(OUTPUT ${gs_made}/service.o
  COMMAND ${GS_CLANGXX} --target=wasm32-wasi -nostartfiles -O0 -Wl,-r,--strip-debug
          ${gs_service_objects} -o ${gs_made}/service.o
  DEPENDS ${gs_service_objects} VERBATIM)
gs_embed(wasm_service ${gs_made}/service.o)
gs_embed(wasm_service_wit ${PROJECT_SOURCE_DIR}/serve/component/service.wit)
gs_embed(wasm_service_encode ${PROJECT_SOURCE_DIR}/serve/component/encode.mjs)
