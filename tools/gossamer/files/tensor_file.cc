#include "gossamer/files/tensor_file.h"

#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <limits>

#include "api/files.h"
#include "ir/scalar.h"
#include "onnx/tensor.h"

namespace gossamer::command {
namespace {

struct NpyType {
  const char* code;  // without the byte order
  ir::DType dtype;
};
constexpr NpyType npy_types[] = {
    {"f4", ir::DType::f32}, {"f2", ir::DType::f16}, {"f8", ir::DType::f64},
    {"i1", ir::DType::i8},  {"i2", ir::DType::i16}, {"i4", ir::DType::i32},
    {"i8", ir::DType::i64}, {"u1", ir::DType::u8},  {"u2", ir::DType::u16},
    {"u4", ir::DType::u32}, {"u8", ir::DType::u64}, {"b1", ir::DType::boolean},
};

// The header is a Python dictionary of three known keys: {'descr': '<f4', 'fortran_order': False,
// 'shape': (1, 3), }. Gives the text after a key's colon.
std::optional<std::string_view> npy_entry(std::string_view header, std::string_view key) {
  size_t at = header.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  at = header.find(':', at + key.size());
  if (at == std::string_view::npos) return std::nullopt;
  ++at;
  while (at < header.size() && header[at] == ' ') ++at;
  return header.substr(at);
}

std::optional<std::vector<int64_t>> npy_shape(std::string_view text) {
  if (text.empty() || text[0] != '(') return std::nullopt;
  std::vector<int64_t> shape;
  int64_t value = -1;
  for (char letter : text.substr(1)) {
    if (letter >= '0' && letter <= '9') {
      value = std::max<int64_t>(value, 0) * 10 + (letter - '0');
      if (value > (int64_t{1} << 48)) return std::nullopt;
    } else if (letter == ',' || letter == ')') {
      if (value >= 0) shape.push_back(value);
      value = -1;
      if (letter == ')') return shape;
    } else if (letter != ' ' && letter != 'L') {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

// Column-major elements to row-major.
void from_fortran(ops::TensorData& tensor) {
  const size_t size = static_cast<size_t>(ir::byte_size(tensor.dtype));
  const size_t rank = tensor.shape.size();
  std::vector<std::byte> ordered(tensor.bytes.size());
  std::vector<int64_t> point(rank, 0);
  for (size_t at = 0; at < ordered.size(); at += size) {
    int64_t from = 0;
    for (size_t axis = rank; axis-- > 0;) from = from * tensor.shape[axis] + point[axis];
    std::memcpy(&ordered[at], &tensor.bytes[static_cast<size_t>(from) * size], size);
    for (size_t axis = rank; axis-- > 0;) {
      if (++point[axis] < tensor.shape[axis]) break;
      point[axis] = 0;
    }
  }
  tensor.bytes = std::move(ordered);
}

// The elements of a bf16 tensor as f32: its bits are the upper half.
std::vector<std::byte> widened(const ops::TensorData& tensor) {
  std::vector<std::byte> wide(2 * tensor.bytes.size());
  for (size_t at = 0; at < tensor.bytes.size(); at += 2)
    std::memcpy(&wide[2 * at + 2], &tensor.bytes[at], 2);
  return wide;
}

// The bytes a shape takes; false beyond 2^48, so that nothing is allocated from a wild number.
bool byte_count(const ops::TensorData& tensor, uint64_t& bytes) {
  bytes = static_cast<uint64_t>(ir::byte_size(tensor.dtype));
  for (int64_t extent : tensor.shape)
    if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes))
      return false;
  return bytes <= uint64_t{1} << 48;
}

}  // namespace

Result<NamedTensor> parse_pb(std::span<const std::byte> bytes) {
  GS_ASSIGN(const onnx::ProtoTensor proto, onnx::parse_tensor(bytes));
  return tensor_of(proto);
}

Result<NamedTensor> tensor_of(const onnx::ProtoTensor& proto) {
  const std::span<const std::byte> bytes = proto.message;
  std::vector<std::string> files;
  GS_ASSIGN(const stages::ConstantSource source,
            onnx::read_tensor(proto, {bytes, &files, std::numeric_limits<size_t>::max(), nullptr}));
  if (!files.empty()) return fail("the tensor's data lie in another file");
  const auto data = onnx::bytes_of(source, bytes);
  if (!data) return fail("the tensor's data are not in the file");
  NamedTensor tensor{std::string(proto.name), {source.dtype, source.shape, {}, {}}};
  tensor.data.bytes.assign(data->begin(), data->end());
  tensor.data.strings = source.strings;
  return tensor;
}

Result<ops::TensorData> parse_npy(std::span<const std::byte> bytes) {
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  if (bytes.size() < 10 || std::memcmp(text, "\x93NUMPY", 6) != 0)
    return fail("this is not a .npy file");
  const auto byte_at = [&](size_t at) { return std::to_integer<size_t>(bytes[at]); };
  const bool wide = byte_at(6) >= 2;  // version 1 has a header length of 2 bytes, later ones of 4
  if (wide && bytes.size() < 12) return fail("the file ends within its header");
  const size_t begin = wide ? 12 : 10;
  size_t length = byte_at(8) | byte_at(9) << 8;
  if (wide) length |= byte_at(10) << 16 | byte_at(11) << 24;
  if (length > bytes.size() - begin) return fail("the file ends within its header");
  const std::string_view header(text + begin, length);
  const auto descr = npy_entry(header, "'descr'"), order = npy_entry(header, "'fortran_order'"),
             shape_entry = npy_entry(header, "'shape'");
  if (!descr || !order || !shape_entry || descr->size() < 5)
    return fail("the header is not a plain array's");
  ops::TensorData tensor;
  const std::string_view code = descr->substr(2, 2);
  const auto* type = std::find_if(std::begin(npy_types), std::end(npy_types),
                                  [&](const NpyType& known) { return code == known.code; });
  const char endian = (*descr)[1];
  if (type == std::end(npy_types) || (*descr)[4] != (*descr)[0] ||
      (endian != '<' && endian != '|' && endian != '='))
    return fail(cat("element type ", descr->substr(0, std::min<size_t>(descr->size(), 8)),
                    " is not supported"),
                "save it as a little-endian number type");
  tensor.dtype = type->dtype;
  const auto shape = npy_shape(*shape_entry);
  if (!shape) return fail("the header has no valid shape");
  tensor.shape = *shape;
  uint64_t size = 0;
  if (!byte_count(tensor, size) || size != bytes.size() - begin - length)
    return fail(cat("shape ", shape_text(tensor.shape), " does not fit the ",
                    bytes.size() - begin - length, " bytes of data"));
  tensor.bytes.assign(bytes.begin() + static_cast<ptrdiff_t>(begin + length), bytes.end());
  if (order->starts_with("True")) from_fortran(tensor);
  return tensor;
}

std::string write_npy(const ops::TensorData& given) {
  // NumPy has no bf16: its values are f32's.
  const bool brain = given.dtype == ir::DType::bf16;
  const ops::TensorData tensor =
      brain ? ops::TensorData{ir::DType::f32, given.shape, widened(given), {}} : given;
  std::string code = ir::is_signed_int(tensor.dtype) ? "i1" : "u1";
  for (const NpyType& type : npy_types)
    if (type.dtype == tensor.dtype) code = type.code;
  std::string shape;
  for (int64_t extent : tensor.shape) shape += cat(extent, ", ");
  if (tensor.shape.size() > 1) shape.resize(shape.size() - 2);
  if (tensor.shape.size() == 1) shape.pop_back();
  std::string header = cat("{'descr': '", ir::byte_size(tensor.dtype) == 1 ? "|" : "<", code,
                           "', 'fortran_order': False, 'shape': (", shape, "), }");
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() & 255);
  file += static_cast<char>(header.size() >> 8);
  file += header;
  file.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  return file;
}

namespace {

// All arrays of a level have one length.
bool add_strings(const rapidjson::Value& value, size_t axis, ops::TensorData& tensor) {
  if (value.IsString()) {
    tensor.strings.emplace_back(value.GetString(), value.GetStringLength());
    return axis == tensor.shape.size();
  }
  if (!value.IsArray() || axis >= tensor.shape.size()) return false;
  if (value.Size() != tensor.shape[axis]) return false;
  return std::ranges::all_of(value.GetArray(), [&](const rapidjson::Value& inner) {
    return add_strings(inner, axis + 1, tensor);
  });
}

}  // namespace

Result<ops::TensorData> parse_json_strings(std::span<const std::byte> bytes) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(reinterpret_cast<const char*>(bytes.data()),
                                                 bytes.size());
  constexpr size_t deepest = 64;
  ops::TensorData tensor{ir::DType::string, {}, {}, {}};
  const rapidjson::Value* inner = document.HasParseError() ? nullptr : &document;
  while (inner && inner->IsArray() && tensor.shape.size() < deepest) {
    tensor.shape.push_back(inner->Size());
    inner = inner->Empty() ? nullptr : &(*inner)[0];
  }
  if (document.HasParseError() || !add_strings(document, 0, tensor))
    return fail("this is no JSON of strings, or of arrays of them of one length");
  return tensor;
}

std::string write_json_strings(const ops::TensorData& tensor) {
  rapidjson::StringBuffer text;
  rapidjson::Writer<rapidjson::StringBuffer> json(text);
  size_t next = 0;
  const auto write = [&](const auto& self, size_t axis) -> void {
    if (axis == tensor.shape.size()) {
      json.String(tensor.strings[next++]);
      return;
    }
    json.StartArray();
    for (int64_t i = 0; i < tensor.shape[axis]; ++i) self(self, axis + 1);
    json.EndArray();
  };
  write(write, 0);
  return text.GetString();
}

Result<NamedTensor> read_tensor_file(const std::filesystem::path& path) {
  GS_ASSIGN(const Bytes bytes, read_file(path));
  Result<NamedTensor> tensor = fail("");
  if (path.extension() == ".npy") {
    auto plain = parse_npy(bytes);
    if (plain)
      tensor = NamedTensor{"", std::move(*plain)};
    else
      tensor = std::unexpected(plain.error());
  } else if (path.extension() == ".pb") {
    tensor = parse_pb(bytes);
  } else if (path.extension() == ".json") {
    auto strings = parse_json_strings(bytes);
    if (strings)
      tensor = NamedTensor{"", std::move(*strings)};
    else
      tensor = std::unexpected(strings.error());
  } else {
    return fail_at(path.string(), "unknown kind of tensor file",
                   "use .npy, .pb (TensorProto), .json (strings), .png or .jpg");
  }
  if (!tensor) {
    Diagnostic error = tensor.error();
    error.where = error.where.empty() ? path.string() : cat(path.string(), ": ", error.where);
    return std::unexpected(std::move(error));
  }
  return tensor;
}

double element(const ops::TensorData& tensor, int64_t at) {
  const auto size = static_cast<size_t>(ir::byte_size(tensor.dtype));
  return ir::read_scalar(tensor.dtype, &tensor.bytes[static_cast<size_t>(at) * size]).as_double();
}

}  // namespace gossamer::command
