# Records that come with the compiler (src/shipped/*.jsonl), as texts inside it. As a script, writes
# them: cmake -DFOLDER= -DOUTPUT= -P shipped.cmake

if(NOT CMAKE_SCRIPT_MODE_FILE)
  if(GS_WASM)
    return() # pages fetch them (web/compiler/src/shipped.ts)
  endif()
  set(folder ${PROJECT_SOURCE_DIR}/src/shipped)
  file(GLOB shipped CONFIGURE_DEPENDS ${folder}/*.jsonl)
  set(source ${CMAKE_BINARY_DIR}/embedded/shipped_files.cc)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/embedded)
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DFOLDER=${folder} -DOUTPUT=${source}
            -P ${PROJECT_SOURCE_DIR}/cmake/shipped.cmake
    DEPENDS ${shipped} ${PROJECT_SOURCE_DIR}/cmake/shipped.cmake VERBATIM)
  target_sources(gossamer_shipped PRIVATE ${source})
  return()
endif()

file(GLOB shipped ${FOLDER}/*.jsonl)
set(rows "")
foreach(file ${shipped})
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "(................................................................)" "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND texts "constexpr char ${name}[] = {\n${bytes}\n};\n")
  string(APPEND rows "    File{\"${name}\", {${name}, sizeof ${name}}},\n")
endforeach()
if(rows)
  string(CONCAT rows "constexpr File all[] = {\n" "${rows}" "};\n")
  set(value "all")
else()
  set(value "{}")
endif()
file(WRITE ${OUTPUT} "#include \"shipped/files.h\"
namespace gossamer::shipped {
namespace {
${texts}${rows}}  // namespace
const std::span<const File> files = ${value};
}  // namespace gossamer::shipped
")
