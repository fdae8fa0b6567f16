# libgossamer (compile and run) and libgossamer_runtime (run alone), shared and static, and what
# `cmake --install` puts where: find_package(Gossamer), pkg-config, tests/install.

set(gs_installs ${PROJECT_IS_TOP_LEVEL})
if(GOSSAMER_SANITIZE)
  set(gs_installs OFF)
endif()
option(GOSSAMER_INSTALL "Build the libraries that are installed, and their rules" ${gs_installs})
if(GS_WASM OR NOT GOSSAMER_INSTALL)
  return()
endif()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# FOLDER and all folders that it is linked with, by layers.txt, each once. Where a row takes one without
# what that sees, or a header of it, nothing behind it is.
function(gs_linked_with folder out)
  set(walked ${folder})
  set(leaves)
  set(at 0)
  list(LENGTH walked count)
  while(at LESS count)
    list(GET walked ${at} next)
    foreach(seen ${GS_SEES_${next}})
      string(REGEX REPLACE "^=|/[^/]*\\.h$" "" name ${seen})
      if(name STREQUAL seen)
        list(APPEND walked ${name})
      else()
        list(APPEND leaves ${name})
      endif()
    endforeach()
    list(REMOVE_DUPLICATES walked)
    list(LENGTH walked count)
    math(EXPR at "${at} + 1")
  endwhile()
  list(APPEND walked ${leaves})
  list(REMOVE_DUPLICATES walked)
  set(${out} ${walked} PARENT_SCOPE)
endfunction()

# Kept apart from the libraries of the folders, one of which is called libgossamer_runtime.a, too.
set(gs_place ${CMAKE_BINARY_DIR}/lib)

# Exported as Gossamer::NAME and Gossamer::NAME_static. The sources of the public API are compiled
# once more for the shared one, with everything hidden but GOSSAMER_API; the rest comes from
# archives, of which the linker shows nothing.
function(gs_installed_library name output component folder)
  cmake_parse_arguments(PARSE_ARGV 4 arg "" "" "API;OUTSIDE")
  gs_linked_with(${folder} folders)
  set(objects)
  foreach(seen ${folders})
    gs_target_name(target ${seen})
    if(TARGET ${target} AND GS_SCOPE_${target} STREQUAL PUBLIC)
      list(APPEND objects $<TARGET_OBJECTS:${target}>)
    endif()
  endforeach()
  foreach(library ${arg_OUTSIDE})
    if(TARGET ${library})
      list(APPEND objects $<TARGET_OBJECTS:${library}>)
    endif()
  endforeach()
  add_library(installed_${name}_static STATIC ${objects})
  set_target_properties(installed_${name}_static PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(installed_${name}_static INTERFACE Threads::Threads ${CMAKE_DL_LIBS})
  if(name STREQUAL gossamer AND GOSSAMER_LLVM)
    target_link_libraries(installed_${name}_static INTERFACE $<INSTALL_INTERFACE:Gossamer::LLVM>)
  endif()

  add_library(installed_${name} SHARED ${arg_API})
  gs_target_name(library ${folder})
  target_link_libraries(installed_${name} PRIVATE gs_options ${library})
  target_compile_definitions(installed_${name} PRIVATE GOSSAMER_SHARED_BUILD INTERFACE GOSSAMER_SHARED)
  set_target_properties(installed_${name} PROPERTIES CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  if(NOT APPLE AND NOT WIN32)
    set(exported ${PROJECT_SOURCE_DIR}/cmake/exported.map)
    target_link_options(installed_${name} PRIVATE
      -Wl,--exclude-libs,ALL -Wl,--version-script,${exported} -Wl,--as-needed)
    set_target_properties(installed_${name} PROPERTIES LINK_DEPENDS ${exported})
  endif()

  foreach(kind "" _static)
    set(target installed_${name}${kind})
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${output} EXPORT_NAME ${name}${kind}
      ARCHIVE_OUTPUT_DIRECTORY ${gs_place} LIBRARY_OUTPUT_DIRECTORY ${gs_place})
    target_compile_features(${target} INTERFACE cxx_std_23)
    target_include_directories(${target} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    install(TARGETS ${target} EXPORT Gossamer_${component}
      ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component}
      LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component}
      RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${component})
  endforeach()
  install(EXPORT Gossamer_${component} NAMESPACE Gossamer:: FILE Gossamer_${component}.cmake
    DESTINATION ${gs_config} COMPONENT ${component})
endfunction()

set(gs_config ${CMAKE_INSTALL_LIBDIR}/cmake/Gossamer)
file(GLOB gs_run_api CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/runtime/api/*.cc)
gs_installed_library(runtime gossamer_runtime runtime runtime API ${gs_run_api})
gs_installed_library(gossamer gossamer compiler src/api
  API ${gs_run_api} ${PROJECT_SOURCE_DIR}/src/api/compile.cc OUTSIDE gs_nanopb)

# The run time's component has what both need.
foreach(header gossamer.h gossamer.hpp bytes.hpp generate.hpp profile.hpp element_types.h export.h)
  install(FILES include/gossamer/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/gossamer
          COMPONENT runtime)
endforeach()
install(FILES include/gossamer/compile.hpp include/gossamer/options.def DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/gossamer
        COMPONENT compiler)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/gossamer COMPONENT runtime)

set(gs_made_config ${CMAKE_BINARY_DIR}/config)
configure_package_config_file(cmake/GossamerConfig.cmake.in ${gs_made_config}/GossamerConfig.cmake
  INSTALL_DESTINATION ${gs_config})
# Below 1.0.0 a minor version may change what is there.
write_basic_package_version_file(${gs_made_config}/GossamerConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${gs_made_config}/GossamerConfig.cmake ${gs_made_config}/GossamerConfigVersion.cmake
        DESTINATION ${gs_config} COMPONENT runtime)

# Found beside the libraries, so that an installation may be moved.
file(RELATIVE_PATH gs_up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
function(gs_pkg_config name component description private)
  set(GS_NAME ${name})
  set(GS_DESCRIPTION ${description})
  set(GS_PRIVATE ${private})
  configure_file(cmake/gossamer.pc.in ${gs_made_config}/${name}.pc @ONLY)
  install(FILES ${gs_made_config}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
          COMPONENT ${component})
endfunction()
set(gs_private "-lstdc++ -lm -pthread")
foreach(library ${CMAKE_DL_LIBS})
  string(APPEND gs_private " -l${library}")
endforeach()
gs_pkg_config(gossamer_runtime runtime "Runs models that Gossamer compiled" "${gs_private}")
if(GOSSAMER_LLVM)
  string(PREPEND gs_private "-L${gs_llvm_lib} -lLLVM-19 ")
endif()
gs_pkg_config(gossamer compiler "Compiles ONNX models and runs them" "${gs_private}")

if(TARGET gossamer)
  install(TARGETS gossamer DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)
  # Pages that `gossamer compile` writes and `gossamer rpc` serves, where the web's side is built: what
  # tools/gossamer/node_process.cc looks for.
  foreach(page runtime/dist/page rpc/dist/page)
    get_filename_component(above ${page} DIRECTORY)
    install(DIRECTORY web/${page} DESTINATION ${CMAKE_INSTALL_DATADIR}/gossamer/web/${above}
            COMPONENT command OPTIONAL)
  endforeach()
  # What `gossamer inspect --html` fills in.
  install(FILES web/inspector/dist/inspector.html
          DESTINATION ${CMAKE_INSTALL_DATADIR}/gossamer/web/inspector/dist COMPONENT command OPTIONAL)
endif()
