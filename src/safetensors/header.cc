#include "safetensors/header.h"

#include <rapidjson/document.h>

#include <array>
#include <cstring>
#include <optional>

#include "onnx/file_kind.h"

namespace gossamer::safetensors {
namespace {

constexpr const char* again = "the file is damaged: download it again";
constexpr uint64_t length_bytes = 8;
constexpr uint64_t longest_header = 100'000'000;  // the format's limit

struct Type {
  std::string_view name;
  uint64_t bytes;
};
constexpr std::array<Type, 14> types = {{{"F64", 8},
                                         {"F32", 4},
                                         {"F16", 2},
                                         {"BF16", 2},
                                         {"F8_E4M3", 1},
                                         {"F8_E5M2", 1},
                                         {"I64", 8},
                                         {"I32", 4},
                                         {"I16", 2},
                                         {"I8", 1},
                                         {"U8", 1},
                                         {"BOOL", 1},
                                         {"U32", 4},
                                         {"U64", 8}}};

std::optional<uint64_t> byte_count(const Tensor& tensor) {
  for (const Type& type : types) {
    if (type.name != tensor.type) continue;
    uint64_t bytes = type.bytes;
    for (const int64_t extent : tensor.shape)
      if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes)) return std::nullopt;
    return bytes;
  }
  return tensor.length;  // a type that no model here uses
}

Result<Tensor> tensor_of(const rapidjson::Value& json, uint64_t data, uint64_t size) {
  const auto member = [&](const char* key) -> const rapidjson::Value* {
    const auto found = json.FindMember(key);
    return found == json.MemberEnd() ? nullptr : &found->value;
  };
  const auto wrong = [] { return fail("has no dtype, shape and data_offsets", again); };
  if (!json.IsObject()) return wrong();
  const rapidjson::Value *type = member("dtype"), *shape = member("shape"),
                         *offsets = member("data_offsets");
  if (!type || !type->IsString() || !shape || !shape->IsArray() || !offsets ||
      !offsets->IsArray() || offsets->Size() != 2 || !(*offsets)[0].IsUint64() ||
      !(*offsets)[1].IsUint64())
    return wrong();
  Tensor tensor{{type->GetString(), type->GetStringLength()}, {}, 0, 0};
  for (const auto& extent : shape->GetArray()) {
    if (!extent.IsInt64() || extent.GetInt64() < 0) return wrong();
    tensor.shape.push_back(extent.GetInt64());
  }
  const uint64_t begin = (*offsets)[0].GetUint64(), end = (*offsets)[1].GetUint64();
  if (end < begin) return wrong();
  if (end > size - data)
    return fail(cat("ends at byte ", end + data, ", the file has ", size),
                "the file is cut: download it again");
  tensor.offset = data + begin;
  tensor.length = end - begin;
  if (byte_count(tensor) != tensor.length)
    return fail(cat("has ", tensor.length, " bytes, which its shape does not take"), again);
  return tensor;
}

}  // namespace

Result<uint64_t> header_bytes(Bytes first, uint64_t size) {
  if (size < length_bytes || first.size() < length_bytes)
    return fail(cat("has ", size, " bytes, which is too short for a safetensors file"),
                "the file is cut: download it again");
  uint64_t length = 0;
  for (size_t at = length_bytes; at-- > 0;)
    length = length << 8 | std::to_integer<uint64_t>(first[at]);
  if (const auto other = onnx::other_kind(first); other && other->any)
    return fail(cat("is ", other->what, ", not a safetensors file"), other->hint);
  if (length > longest_header)
    return fail("is not a safetensors file: it does not begin with the length of a header",
                "download it again");
  if (length > size - length_bytes)
    return fail(cat("has ", size, " bytes, its header alone ", length + length_bytes),
                "the file is cut: download it again");
  return length + length_bytes;
}

Result<Tensors> parse_header(Bytes bytes, uint64_t size) {
  GS_ASSIGN(const uint64_t data, header_bytes(bytes, size));
  if (data > bytes.size()) return fail("the header is not there as a whole");
  rapidjson::Document header;
  header.Parse<rapidjson::kParseIterativeFlag>(
      reinterpret_cast<const char*>(bytes.data()) + length_bytes,
      static_cast<size_t>(data - length_bytes));
  if (header.HasParseError() || !header.IsObject())
    return fail("is not a safetensors file: its header is not JSON", "download it again");
  Tensors tensors;
  for (const auto& [key, value] : header.GetObject()) {
    std::string name(key.GetString(), key.GetStringLength());
    if (name == "__metadata__") continue;
    auto tensor = tensor_of(value, data, size);
    if (!tensor) {
      tensor.error().where = cat("tensor \"", name, "\"");
      return std::unexpected(std::move(tensor.error()));
    }
    tensors.insert_or_assign(std::move(name), *std::move(tensor));
  }
  return tensors;
}

}  // namespace gossamer::safetensors
