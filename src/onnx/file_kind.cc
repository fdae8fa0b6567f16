#include "onnx/file_kind.h"

#include <algorithm>
#include <string_view>

#include "base/strings.h"

namespace gossamer::onnx {
namespace {

using namespace std::string_view_literals;

constexpr size_t looked_at = 4096;

struct Kind {
  std::string_view begins;
  size_t at;
  std::string_view what, hint;
  bool any = false;
};

constexpr auto export_it = "export the model itself: torch.onnx.export, tf2onnx or optimum-cli"sv;
constexpr auto unpack_it = "unpack it and give the .onnx file in it"sv;
constexpr auto is_no_model = "give the .onnx file"sv;

constexpr Kind kinds[] = {
    {"version https://git-lfs.github.com/spec/"sv, 0, "a Git LFS pointer"sv,
     "run `git lfs pull`, or download the file that it stands for"sv, true},
    {"GGUF"sv, 0, "a GGUF file"sv, export_it},
    {"\x89HDF\r\n\x1a\n"sv, 0, "an HDF5 file, as Keras saves weights"sv, export_it},
    {"TFL3"sv, 4, "a TensorFlow Lite model"sv,
     "convert it with `python -m tf2onnx.convert --tflite`"sv},
    {"ORTM"sv, 4, "onnxruntime's own .ort format"sv, "give the .onnx file that it was made from"sv},
    {"\x93NUMPY"sv, 0, "a NumPy array"sv, is_no_model},
    {"\0asm"sv, 0, "a WebAssembly module"sv, is_no_model},
    {"\x7f"
     "ELF"sv,
     0, "a program or library"sv, is_no_model},
    {"\x89PNG"sv, 0, "a picture"sv, is_no_model},
    {"\xff\xd8\xff"sv, 0, "a picture"sv, is_no_model},
    {"%PDF"sv, 0, "a PDF document"sv, is_no_model},
    {"\x1f\x8b"sv, 0, "a gzip archive"sv, unpack_it},
    {"BZh"sv, 0, "a bzip2 archive"sv, unpack_it},
    {"\xfd"
     "7zXZ"sv,
     0, "an xz archive"sv, unpack_it},
    {"\x28\xb5\x2f\xfd"sv, 0, "a Zstandard archive"sv, unpack_it},
    {"7z\xbc\xaf\x27\x1c"sv, 0, "a 7-Zip archive"sv, unpack_it},
    {"ustar"sv, 257, "a tar archive"sv, unpack_it},
};

std::string lower(std::string_view text) {
  std::string made(text);
  for (char& letter : made)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return made;
}

// Its first bytes are the length of a JSON header.
bool is_safetensors(std::string_view text, size_t size) {
  if (text.size() < 9 || text[8] != '{') return false;
  uint64_t length = 0;
  for (size_t at = 8; at-- > 0;) length = length << 8 | static_cast<unsigned char>(text[at]);
  return length > 1 && length <= size - 8;
}

// Pickles name the protocol first and end each with a dot.
bool is_pickle(std::string_view text) {
  if (text.size() < 2 || text[0] != '\x80' || text[1] < 2 || text[1] > 5) return false;
  // A protobuf message may begin so by chance: field 16 of a negative number.
  return text.size() < 3 || "}](c\x8a\x8c\x95qX"sv.contains(text[2]);
}

bool is_text(std::string_view text) {
  return std::ranges::all_of(text, [](char letter) {
    const auto byte = static_cast<unsigned char>(letter);
    return byte >= ' ' ? byte != 0x7f : letter == '\n' || letter == '\r' || letter == '\t';
  });
}

OtherKind made(std::string_view what, std::string_view hint, bool any = false) {
  return {std::string(what), std::string(hint), any};
}

OtherKind kind_of_text(std::string_view text) {
  const std::string letters = lower(text.substr(0, 1024));
  if (letters.contains("ir_version"))
    return made("ONNX as text",
                "write it as binary: onnx.save(onnx.parser.parse_model(text), path)");
  if (text.starts_with('<')) {
    if (letters.contains("<html") || letters.contains("<!doctype html"))
      return made("an HTML page",
                  "the server may have answered with an error page: check the address, or download "
                  "the file again",
                  true);
    return made("XML", "an answer of a server, or OpenVINO's format: give the .onnx file");
  }
  if (text.starts_with('{') && letters.contains("\"gossamer"))
    return made("part of a compiled package", "run or load its folder");
  if (text.starts_with('{') || text.starts_with('[')) return made("JSON", is_no_model);
  std::string line = one_line(text.substr(0, std::min(text.find('\n'), size_t{60})));
  return made(cat("text that begins with \"", line, "\""),
              "give the model itself, not its path or address");
}

}  // namespace

std::optional<OtherKind> other_kind(Bytes bytes) {
  if (bytes.empty()) return made("empty", "download or export the model again");
  std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                        std::min(bytes.size(), looked_at));
  for (const Kind& kind : kinds)
    if (text.substr(std::min(kind.at, text.size())).starts_with(kind.begins))
      return made(kind.what, kind.hint, kind.any);
  if (text.starts_with("PK\x03\x04")) {
    if (text.contains("/data.pkl") || text.contains("/byteorder"))
      return made("a PyTorch checkpoint", "export the model itself with torch.onnx.export");
    return made("a zip archive", unpack_it);
  }
  if (is_safetensors(text, bytes.size()))
    return made("a safetensors file, weights without a graph", export_it);
  if (is_pickle(text)) return made("a Python pickle, as torch.save and joblib write", export_it);
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  // What a model begins with is not a letter: the tag of its version.
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return made("blank text", is_no_model);
  if (is_text(text)) return kind_of_text(text.substr(begin));
  return std::nullopt;
}

}  // namespace gossamer::onnx
