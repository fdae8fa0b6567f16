#include "onnx/tensor.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>

#include "base/strings.h"
#include "ir/scalar.h"

namespace gossamer::onnx {
namespace {

using ir::DType;
using stages::ConstantSource;

constexpr uint64_t max_bytes = uint64_t{1} << 48;

std::string dims_text(const std::vector<int64_t>& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += cat(i ? ", " : "", dims[i]);
  return text + "]";
}

Result<uint64_t> size_of(const std::vector<int64_t>& dims, DType dtype) {
  if (dims.size() > 64) return fail(cat("has ", dims.size(), " dimensions"));
  uint64_t size = static_cast<uint64_t>(std::max(ir::byte_size(dtype), 1));
  bool empty = std::ranges::find(dims, 0) != dims.end();
  for (int64_t dim : dims) {
    if (dim < 0) return fail(cat("has the shape ", dims_text(dims)));
    uint64_t extent = empty ? 0 : static_cast<uint64_t>(dim);
    if (extent > 0 && size > max_bytes / extent) {
      return fail(cat("has the shape ", dims_text(dims), ", too large for any machine"));
    }
    size *= extent;
  }
  return size;
}

// The typed field that holds elements of a type in TensorProto.
uint32_t data_field_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return 4;
    case DType::i64:
      return 7;
    case DType::f64:
      return 10;
    case DType::u32:
    case DType::u64:
      return 11;
    default:
      return 5;
  }
}

// Elements a byte of raw_data and int32_data.
int packing_of(DType dtype) { return ir::is_small(dtype) ? 8 / ir::bit_width(dtype) : 1; }

bool has_raw(const ProtoTensor& tensor, uint64_t length) {
  return tensor.external || (tensor.raw && (!tensor.raw->empty() || length == 0));
}

Result<> wrong_length(uint64_t have, uint64_t want, const std::vector<int64_t>& dims) {
  return fail(cat("has ", have, " bytes of data, its shape ", dims_text(dims), " needs ", want),
              "the file is damaged, or the exporter is wrong");
}

// Elements from float_data, int32_data, ...: f32 and f64 in one packed piece stay a range of the
// file.
Result<> read_typed(const ProtoTensor& tensor, uint64_t length, const TensorSource& source,
                    ConstantSource& constant) {
  uint32_t wanted = data_field_of(constant.dtype);
  bool floats = constant.dtype == DType::f32 || constant.dtype == DType::f64;
  WireType single = constant.dtype == DType::f64 ? WireType::fixed64 : WireType::fixed32;
  size_t size = static_cast<size_t>(ir::byte_size(constant.dtype));
  std::vector<std::byte> bytes;
  std::vector<int64_t> integers;
  MessageReader reader(tensor.message);
  Field field;
  while (true) {
    GS_ASSIGN(bool more, reader.next(field));
    if (!more) break;
    if (field.number != wanted) continue;
    if (!floats) {
      GS_TRY(append_varints(field, integers));
    } else if (field.type == WireType::bytes) {
      if (bytes.empty() && field.bytes.size() == length && length > source.copy_limit) {
        constant.file = 0;
        constant.offset = static_cast<uint64_t>(field.bytes.data() - source.model.data());
        constant.length = length;
        return {};
      }
      bytes.insert(bytes.end(), field.bytes.begin(), field.bytes.end());
    } else if (field.type == single) {
      const auto* scalar = reinterpret_cast<const std::byte*>(&field.scalar);
      bytes.insert(bytes.end(), scalar, scalar + size);
    }
  }
  if (!floats) {
    bytes.resize(integers.size() * size);
    // Every integer type keeps its low bytes; f16, bf16 and small types are stored as their bits.
    for (size_t i = 0; i < integers.size(); ++i) {
      if (constant.dtype == DType::boolean) integers[i] = integers[i] != 0;
      std::memcpy(&bytes[i * size], &integers[i], size);
    }
  }
  if (bytes.size() != length) return wrong_length(bytes.size(), length, tensor.dims);
  constant.bytes = std::move(bytes);
  return {};
}

// Elements from string_data: one a byte at least was checked to fit.
Result<> read_strings(const ProtoTensor& tensor, ConstantSource& constant) {
  constexpr uint32_t string_data = 6;
  MessageReader reader(tensor.message);
  Field field;
  while (true) {
    GS_ASSIGN(bool more, reader.next(field));
    if (!more) break;
    if (field.is(string_data, WireType::bytes)) constant.strings.emplace_back(field.text());
  }
  uint64_t count = 1;
  for (int64_t dim : tensor.dims) count *= static_cast<uint64_t>(dim);
  if (constant.strings.size() == count) {
    GS_TRY(packed_width(constant.strings));
    return {};
  }
  return fail(cat("has ", constant.strings.size(), " strings, its shape ", dims_text(tensor.dims),
                  " needs ", count),
              "the file is damaged, or the exporter is wrong");
}

Result<uint64_t> number_of(std::string_view key, std::string_view text) {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > max_bytes) {
    return fail(cat("external data has the ", key, " \"", text, "\", not a number"));
  }
  return value;
}

}  // namespace

Result<std::string> location_of(const ProtoTensor& tensor) {
  std::string_view given;
  for (auto [key, value] : tensor.external_data)
    if (key == "location") given = value;
  if (auto path = normal_path(given)) return *std::move(path);
  return fail(cat("external data path \"", given, "\" leaves the model's folder"),
              "paths must be relative and stay in the folder");
}

namespace {

Result<> read_external(const ProtoTensor& tensor, uint64_t length, const TensorSource& source,
                       ConstantSource& constant) {
  uint64_t offset = 0;
  for (auto [key, value] : tensor.external_data) {
    if (key == "offset") {
      GS_ASSIGN(offset, number_of(key, value));
    }
    if (key == "length") {
      GS_ASSIGN(uint64_t stated, number_of(key, value));
      if (stated != length) return wrong_length(stated, length, tensor.dims);
    }
  }
  GS_ASSIGN(std::string file, location_of(tensor));
  auto found = std::ranges::find(*source.files, file);
  if (found == source.files->end()) found = source.files->insert(found, file);
  constant.file = static_cast<int>(found - source.files->begin()) + 1;
  constant.offset = offset;
  constant.length = length;
  if (length <= source.copy_limit && source.external) {
    GS_ASSIGN(const Bytes bytes, source.external->range(file, offset, length));
    constant.bytes.assign(bytes.begin(), bytes.end());
    constant.file = -1;
  }
  return {};
}

// The bytes as the file has them: copied, or a range.
Result<> read_bytes(const ProtoTensor& tensor, uint64_t length, const TensorSource& source,
                    ConstantSource& constant) {
  if (tensor.external) {
    return read_external(tensor, length, source, constant);
  }
  if (has_raw(tensor, length)) {
    if (tensor.raw->size() != length) {
      return wrong_length(tensor.raw->size(), length, tensor.dims);
    }
    if (length <= source.copy_limit) {
      constant.bytes.assign(tensor.raw->begin(), tensor.raw->end());
    } else {
      constant.file = 0;
      constant.offset = static_cast<uint64_t>(tensor.raw->data() - source.model.data());
      constant.length = length;
    }
    return {};
  }
  return read_typed(tensor, length, source, constant);
}

// Elements of six bits straddle bytes in raw_data; int32_data have them one by one. They are
// always copied: no kernel unpacks them.
Result<> read_six_bits(const ProtoTensor& tensor, uint64_t count, const TensorSource& source,
                       ConstantSource& constant) {
  if (!has_raw(tensor, count)) return read_typed(tensor, count, source, constant);
  TensorSource copying = source;
  copying.copy_limit = std::numeric_limits<size_t>::max();
  GS_TRY(read_bytes(tensor, (count * 6 + 7) / 8, copying, constant));
  if (constant.file >= 0) {
    return fail("has elements of six bits in an external file",
                "store such tensors in the model's own file");
  }
  constant.bytes = unpack(constant.bytes, constant.dtype, count);
  return {};
}

}  // namespace

Result<DType> dtype_of(int onnx_type) {
  if (auto known = ops::dtype_of_onnx(onnx_type)) return *known;
  std::string name = onnx_type == 0    ? "undefined"
                     : onnx_type == 14 ? "complex64"
                     : onnx_type == 15 ? "complex128"
                                       : cat(onnx_type);
  return fail(cat("has the element type ", name, ", which is not supported"));
}

std::vector<std::byte> unpack(Bytes packed, DType dtype, uint64_t count) {
  const auto bits = static_cast<uint64_t>(ir::bit_width(dtype));
  std::vector<std::byte> elements(count);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t at = i * bits / 8, shift = i * bits % 8;
    uint64_t code = std::to_integer<uint64_t>(packed[at]);
    if (shift + bits > 8) code |= std::to_integer<uint64_t>(packed[at + 1]) << 8;
    code = (code >> shift) & ((1u << bits) - 1);
    const DType wrapping = ir::is_float(dtype) ? DType::u8 : dtype;
    const auto value = ir::Scalar::of_int(wrapping, static_cast<int64_t>(code));
    ir::write_scalar(value, &elements[i]);
  }
  return elements;
}

Result<ConstantSource> read_tensor(const ProtoTensor& tensor, const TensorSource& source) {
  ConstantSource constant;
  GS_ASSIGN(constant.dtype, dtype_of(tensor.data_type));
  constant.shape = tensor.dims;
  GS_ASSIGN(const uint64_t unpacked_length, size_of(tensor.dims, constant.dtype));
  if (constant.dtype == DType::string) {
    GS_TRY(read_strings(tensor, constant));
    return constant;
  }
  if (ir::bit_width(constant.dtype) == 6) {
    GS_TRY(read_six_bits(tensor, unpacked_length, source, constant));
    return constant;
  }
  constant.packed = packing_of(constant.dtype);
  const auto packed = static_cast<uint64_t>(constant.packed);
  GS_TRY(read_bytes(tensor, (unpacked_length + packed - 1) / packed, source, constant));
  if (constant.file < 0 && constant.packed > 1) {
    constant.bytes = unpack(constant.bytes, constant.dtype, unpacked_length);
    constant.packed = 1;
  }
  return constant;
}

Result<ConstantSource> read_sparse(const ProtoSparse& tensor, const TensorSource& source,
                                   uint64_t& room) {
  TensorSource copying = source;
  copying.copy_limit = std::numeric_limits<size_t>::max();
  GS_ASSIGN(const ConstantSource values, read_tensor(tensor.values, copying));
  GS_ASSIGN(const ConstantSource indices, read_tensor(tensor.indices, copying));
  if (values.file >= 0 || indices.file >= 0 || values.dtype == DType::string)
    return fail("is sparse, of strings or in an external file", "export it dense");
  ConstantSource dense;
  dense.dtype = values.dtype;
  dense.shape = tensor.dims;
  GS_ASSIGN(const uint64_t length, size_of(tensor.dims, dense.dtype));
  if (length > room)
    return fail(cat("is sparse and takes ", length, " bytes when it is not; a model's may take ",
                    max_dense),
                "export it dense");
  room -= length;
  const auto size = static_cast<size_t>(ir::byte_size(dense.dtype));
  const size_t count = values.bytes.size() / size, rank = tensor.dims.size();
  const bool linear = indices.shape.size() == 1;
  const std::vector<int64_t> wanted =
      linear ? std::vector<int64_t>{static_cast<int64_t>(count)}
             : std::vector<int64_t>{static_cast<int64_t>(count), static_cast<int64_t>(rank)};
  if (indices.dtype != DType::i64 || indices.shape != wanted)
    return fail(cat("is sparse and its indices do not fit its ", count, " values"),
                "they are i64, one for each value or one row of places");
  dense.bytes.resize(length);
  const auto index = [&](size_t i) {
    return ir::read_scalar(DType::i64, &indices.bytes[i * sizeof(int64_t)]).as_int();
  };
  const auto elements = static_cast<int64_t>(length / size);
  for (size_t i = 0; i < count; ++i) {
    int64_t at = linear ? index(i) : 0;
    bool inside = at >= 0 && at < elements;
    for (size_t axis = 0; !linear && axis < rank; ++axis) {
      const int64_t place = index(i * rank + axis);
      inside = inside && place >= 0 && place < tensor.dims[axis];
      if (inside) at = at * tensor.dims[axis] + place;
    }
    if (!inside) return fail(cat("is sparse and its value ", i, " lies outside"));
    std::copy_n(&values.bytes[i * size], size, &dense.bytes[static_cast<size_t>(at) * size]);
  }
  return dense;
}

std::optional<Bytes> bytes_of(const ConstantSource& constant, Bytes model) {
  if (constant.file < 0) return Bytes(constant.bytes);
  if (constant.file > 0) return std::nullopt;
  return model.subspan(constant.offset, constant.length);
}

}  // namespace gossamer::onnx
