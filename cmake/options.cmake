# Compiler, flags and options common to every target of this project.

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT GS_WASM)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
endif()

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
# No NDEBUG: internal checks stay on.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g1")
set(CMAKE_CXX_FLAGS_MINSIZEREL "-Oz -DNDEBUG")
set(CMAKE_C_FLAGS_MINSIZEREL "-Oz -DNDEBUG")

if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(GS_CCACHE ccache)
  if(GS_CCACHE)
    # Build folders of this and of other checkouts share compiled objects, whatever started the build. The sloppiness
    # lets ccache keep what reads precompiled headers (cmake/precompile.sh).
    set(gs_ccache env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_PCH_EXTSUM=1
        CCACHE_SLOPPINESS=pch_defines,time_macros ${GS_CCACHE})
    set(CMAKE_C_COMPILER_LAUNCHER ${gs_ccache})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${gs_ccache})
  endif()
endif()

add_library(gs_options INTERFACE)
# Contraction stays off so that a constant folds to the same bits natively and in wasm.
target_compile_options(gs_options INTERFACE
  -Wall -Wextra -Werror -ffp-contract=off
  $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti>)
# Paths in messages and debug information stay relative, so builds do not depend on where they ran.
target_compile_options(gs_options INTERFACE -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)

# For code that runs once for each operator or command: inlining it is half of the time that compiling it takes.
set(gs_cold_options)
if(NOT GS_WASM AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(gs_cold_options -O1 "SHELL:-mllvm -inline-threshold=20")
endif()

if(GS_WASM)
  target_compile_options(gs_options INTERFACE -fvisibility=hidden -mbulk-memory -msign-ext
                                              -mnontrapping-fptoint)
else()
  add_link_options(-fuse-ld=lld-19)
endif()

if(GOSSAMER_SANITIZE)
  # vptr needs RTTI, which the core is built without.
  add_compile_options(-fsanitize=${GOSSAMER_SANITIZE} -fno-sanitize=vptr
                      -fno-sanitize-recover=all -fno-omit-frame-pointer
                      -fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/sanitize-ignore.txt)
  add_link_options(-fsanitize=${GOSSAMER_SANITIZE})
endif()
