# The programs: the command line natively, compiler.wasm in the wasm build, and the tests that need
# everything.

if(GS_WASM)
  # A reactor exports its functions and keeps its memory between calls. -O0 here only stops clang from
  # running Debian's wasm-opt silently, which is older than the wasm that clang writes; web/compiler/build
  # runs one that is not. Names stay until then: it orders functions by them.
  function(gs_add_reactor name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES")
    add_executable(${name} ${arg_SOURCES})
    set_target_properties(${name} PROPERTIES SUFFIX .wasm)
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/web/compiler)
    target_link_libraries(${name} PRIVATE gs_options ${arg_LIBRARIES})
    gs_reads(${name} standard)
    target_link_options(${name} PRIVATE -mexec-model=reactor -O0
      -Wl,-O2,--gc-sections,--strip-debug,-z,stack-size=1048576)
  endfunction()
  gs_sources(web/compiler/native sources tests)
  gs_add_reactor(compiler SOURCES ${sources} LIBRARIES gossamer_compiler gossamer_tensor)
  # The compiler without lazy tensors, and with a search and `inspect`.
  list(FILTER sources EXCLUDE REGEX "/recorder_entry\\.cc$")
  gs_sources(web/compiler/tuner tuner_sources tests)
  gs_add_reactor(tuner SOURCES ${sources} ${tuner_sources} LIBRARIES gossamer_compiler gossamer_inspect)
  # The compiler of @gossamer/ort, without lazy tensors, gradients and weights of GGUF files, and that of @gossamer/llm, which
  # has the last. Alone in their object files, the sources that these replace are not linked.
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/graph/gradient_op.cc
    ${PROJECT_SOURCE_DIR}/src/lower/lower_gradient.cc ${PROJECT_SOURCE_DIR}/src/ops/nn/block_formats.cc
    PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  gs_sources(web/compiler/models model_sources tests)
  gs_add_reactor(models SOURCES ${sources} ${model_sources} LIBRARIES gossamer_compiler)
  list(FILTER model_sources EXCLUDE REGEX "/no_blocks\\.cc$")
  gs_add_reactor(language SOURCES ${sources} ${model_sources} LIBRARIES gossamer_compiler)
  # What translates GGUF and safetensors files, apart: pages fetch it for these alone.
  gs_sources(web/compiler/gguf gguf_sources tests)
  gs_add_reactor(gguf SOURCES ${gguf_sources} web/compiler/native/answer.cc LIBRARIES gossamer_gguf gossamer_safetensors gs_rapidjson)
  return()
endif()

gs_sources(tools/gossamer sources tests)
if(sources)
  set(main ${sources})
  list(FILTER main INCLUDE REGEX "/main\\.cc$")
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  if(sources)
    add_library(gossamer_command STATIC ${sources})
    gs_reads(gossamer_command standard)
    gs_together(gossamer_command ${sources})
    target_link_libraries(gossamer_command PRIVATE gs_options gs_cli11)
    target_compile_options(gossamer_command PRIVATE ${gs_cold_options})
    # The command-line parser throws, so exceptions are on in what calls it and nowhere else.
    set_source_files_properties(${PROJECT_SOURCE_DIR}/tools/gossamer/command_line.cc PROPERTIES
      COMPILE_OPTIONS "-fexceptions;-frtti" SKIP_PRECOMPILE_HEADERS ON)
    target_compile_definitions(gossamer_command PRIVATE GOSSAMER_VERSION="${PROJECT_VERSION}")
    set(scope PUBLIC)
  else()
    add_library(gossamer_command INTERFACE)
    set(scope INTERFACE)
  endif()
  foreach(library ${GS_ALL_LIBRARIES})
    target_link_libraries(gossamer_command ${scope} ${library})
  endforeach()
  target_link_libraries(gossamer_command ${scope} gs_stb gs_rapidjson gs_nanopb)
  target_include_directories(gossamer_command ${scope}
    ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tools)
  if(main)
    add_executable(gossamer ${main})
    target_compile_definitions(gossamer PRIVATE GOSSAMER_VERSION="${PROJECT_VERSION}")
    target_link_libraries(gossamer PRIVATE gs_options gossamer_command)
  endif()
  gs_add_test(gossamer_command_test SOURCES ${tests} LIBRARIES gossamer_command)
endif()

# tests/FOLDER/*_test.cc: one program a folder, seeing every layer.
file(GLOB entries CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/*)
foreach(entry ${entries})
  if(IS_DIRECTORY ${entry} AND NOT EXISTS ${entry}/CMakeLists.txt)
    get_filename_component(name ${entry} NAME)
    gs_sources(tests/${name} sources tests)
    # Without tests in C++ the sources are a suite's, which compiles them itself.
    if(NOT tests)
      continue()
    endif()
    gs_add_test(tests_${name} SOURCES ${tests} ${sources} LIBRARIES ${GS_ALL_LIBRARIES})
    if(TARGET tests_${name})
      target_include_directories(tests_${name} PRIVATE ${PROJECT_SOURCE_DIR}
                                                       ${PROJECT_SOURCE_DIR}/tests)
    endif()
  endif()
endforeach()

# Folders with needs of their own bring their own rules.
file(GLOB lists CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/CMakeLists.txt
     ${PROJECT_SOURCE_DIR}/python/CMakeLists.txt ${PROJECT_SOURCE_DIR}/examples/*/CMakeLists.txt
     ${PROJECT_SOURCE_DIR}/tests/*/CMakeLists.txt)
foreach(list ${lists})
  get_filename_component(folder ${list} DIRECTORY)
  add_subdirectory(${folder})
endforeach()
