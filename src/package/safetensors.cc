#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cstring>
#include <set>

#include "package/write.h"

namespace gossamer::package {
namespace {

constexpr uint64_t alignment = 64;
constexpr uint64_t least_view = 4096;  // smaller constants are copied

uint64_t aligned(uint64_t offset) { return (offset + alignment - 1) / alignment * alignment; }

// The bytes a shape takes, or an error where it has no size.
Result<uint64_t> byte_count(const Constant& constant) {
  uint64_t bytes = static_cast<uint64_t>(ir::byte_size(constant.dtype));
  for (int64_t extent : constant.shape) {
    if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes))
      return fail_at(cat("weight \"", constant.name, "\""), "its shape has no size in bytes");
  }
  return bytes;
}

using Json = rapidjson::Writer<rapidjson::StringBuffer>;

void write_entry(Json& json, const std::string& name, std::string_view dtype,
                 std::span<const int64_t> shape, uint64_t begin, uint64_t end) {
  json.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
  json.StartObject();
  json.Key("dtype");
  json.String(dtype.data(), static_cast<rapidjson::SizeType>(dtype.size()));
  json.Key("shape");
  json.StartArray();
  for (int64_t extent : shape) json.Int64(extent);
  json.EndArray();
  json.Key("data_offsets");
  json.StartArray();
  json.Uint64(begin);
  json.Uint64(end);
  json.EndArray();
  json.EndObject();
}

}  // namespace

std::string_view safetensors_name(ir::DType dtype) {
  switch (dtype) {
    case ir::DType::f32:
      return "F32";
    case ir::DType::f16:
      return "F16";
    case ir::DType::bf16:
      return "BF16";
    case ir::DType::f64:
      return "F64";
    case ir::DType::i8:
      return "I8";
    case ir::DType::i16:
      return "I16";
    case ir::DType::i32:
      return "I32";
    case ir::DType::i64:
      return "I64";
    case ir::DType::u8:
      return "U8";
    case ir::DType::u16:
      return "U16";
    case ir::DType::u32:
      return "U32";
    case ir::DType::u64:
      return "U64";
    case ir::DType::boolean:
      return "BOOL";
    case ir::DType::f8e4m3fn:
      return "F8_E4M3";
    case ir::DType::f8e5m2:
      return "F8_E5M2";
    case ir::DType::f8e8m0:
      return "F8_E8M0";
    // Codes, one a byte: readers of the format disagree about these types, or know none.
    case ir::DType::f8e4m3fnuz:
    case ir::DType::f8e5m2fnuz:
    case ir::DType::f4e2m1:
    case ir::DType::f6e2m3:
    case ir::DType::f6e3m2:
    case ir::DType::u4:
    case ir::DType::u2:
      return "U8";
    case ir::DType::i4:
    case ir::DType::i2:
      return "I8";
    case ir::DType::index:
    case ir::DType::string:
      break;
  }
  return {};
}

Result<File> write_safetensors(std::span<const Constant> constants) {
  rapidjson::StringBuffer header;
  Json json(header);
  std::set<std::string_view> names;
  std::vector<uint64_t> offsets;
  uint64_t end = 0;
  int paddings = 0;
  json.StartObject();
  for (const Constant& constant : constants) {
    const std::string where = cat("weight \"", constant.name, "\"");
    if (constant.name.empty() || constant.name == "__metadata__" ||
        constant.name.starts_with("gossamer.padding."))
      return fail_at(where, "this name is not allowed in a safetensors file");
    if (!names.insert(constant.name).second) return fail_at(where, "this name is used twice");
    const std::string_view dtype = safetensors_name(constant.dtype);
    if (dtype.empty())
      return fail_at(where, cat("type ", ir::name_of(constant.dtype), " cannot be stored"));
    GS_ASSIGN(const uint64_t bytes, byte_count(constant));
    if (bytes != constant.size())
      return fail_at(where, cat("its shape takes ", bytes, " bytes, it has ", constant.size()));
    const uint64_t begin = aligned(end);
    if (begin != end) {
      const int64_t gap = static_cast<int64_t>(begin - end);
      write_entry(json, cat("gossamer.padding.", paddings++), "U8", {&gap, 1}, end, begin);
    }
    end = begin + bytes;
    offsets.push_back(begin);
    write_entry(json, constant.name, dtype, constant.shape, begin, end);
  }
  json.EndObject();

  // Spaces after the header are part of the format; they align the data in the file.
  const uint64_t header_bytes = aligned(8 + header.GetSize()) - 8;
  File file{"weights.safetensors", std::vector<std::byte>(8 + header_bytes)};
  for (size_t byte = 0; byte < 8; ++byte)
    file.bytes[byte] = static_cast<std::byte>(header_bytes >> (8 * byte));
  std::memset(file.bytes.data() + 8, ' ', header_bytes);
  std::memcpy(file.bytes.data() + 8, header.GetString(), header.GetSize());
  file.size = 8 + header_bytes + end;
  const auto is_inside = [&](const Constant& constant) {
    return constant.range.file.empty() && !(constant.viewed && constant.bytes.size() >= least_view);
  };
  uint64_t inside = 0;  // bytes of the constants that are copied
  for (const Constant& constant : constants) inside += is_inside(constant) ? constant.size() : 0;
  file.bytes.reserve(8 + header_bytes + inside + alignment * constants.size());
  uint64_t absent = 0, in_parts = 0;  // bytes elsewhere so far, bytes that parts list
  const auto close_part = [&] {
    if (in_parts < file.bytes.size()) file.parts.push_back({file.bytes.size() - in_parts});
    in_parts = file.bytes.size();
  };
  for (size_t at = 0; at < constants.size(); ++at) {
    const Constant& constant = constants[at];
    file.bytes.resize(8 + header_bytes + offsets[at] - absent);
    if (is_inside(constant)) {
      file.bytes.insert(file.bytes.end(), constant.bytes.begin(), constant.bytes.end());
      continue;
    }
    close_part();
    file.parts.push_back({constant.size(), constant.range, constant.bytes});
    absent += constant.size();
  }
  if (absent > 0) close_part();
  return file;
}

}  // namespace gossamer::package
