# A file as a span of bytes in C++: cmake -DNAME= -DFILE= -DOUTPUT= -P embed.cmake
file(READ ${FILE} bytes HEX)
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "#include \"library/run_time.h\"
namespace {
constexpr unsigned char bytes[] = {\n${bytes}\n};
}
const std::span<const std::byte> gossamer::library::run_time::${NAME} =
    std::as_bytes(std::span(bytes));
")
