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
foreach(text program.h model.h model.c one_thread.c)
  string(REPLACE "." "_" name text_${text})
  gs_embed(${name} ${gs_embedded}/${text})
endforeach()
if(NOT GOSSAMER_LLVM)
  return()
endif()
find_program(GS_CLANG NAMES clang-19 REQUIRED)

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
gs_embed_code(native_threads threads.c -O2 -D_GNU_SOURCE)
gs_embed_code(wasm_model model.c ${gs_wasm_flags})
gs_embed_code(wasm_one_thread one_thread.c ${gs_wasm_flags})
gs_embed_code(wasm_program program.c ${gs_wasm_flags})
gs_embed_code(wasm_threads wasi_threads.c ${gs_wasm_flags} -matomics)
