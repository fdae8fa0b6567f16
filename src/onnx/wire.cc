#include "onnx/wire.h"

#include <bit>

#include "pb_decode.h"

namespace gossamer::onnx {
namespace {

std::unexpected<Diagnostic> malformed() {
  return fail("the file is truncated or not an ONNX model", "check that it was copied completely");
}

pb_istream_t stream_over(Bytes bytes) {
  return pb_istream_from_buffer(reinterpret_cast<const pb_byte_t*>(bytes.data()), bytes.size());
}

}  // namespace

float Field::number32() const { return std::bit_cast<float>(static_cast<uint32_t>(scalar)); }

std::string_view Field::text() const {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Result<bool> MessageReader::next(Field& field) {
  if (rest_.empty()) return false;
  pb_istream_t stream = stream_over(rest_);
  pb_wire_type_t type;
  bool at_end = false;
  if (!pb_decode_tag(&stream, &type, &field.number, &at_end) || field.number == 0) {
    return malformed();
  }
  field.scalar = 0;
  field.bytes = {};
  switch (type) {
    case PB_WT_VARINT:
      field.type = WireType::varint;
      if (!pb_decode_varint(&stream, &field.scalar)) return malformed();
      break;
    case PB_WT_64BIT:
      field.type = WireType::fixed64;
      if (!pb_decode_fixed64(&stream, &field.scalar)) return malformed();
      break;
    case PB_WT_32BIT: {
      field.type = WireType::fixed32;
      uint32_t word = 0;
      if (!pb_decode_fixed32(&stream, &word)) return malformed();
      field.scalar = word;
      break;
    }
    case PB_WT_STRING: {
      field.type = WireType::bytes;
      uint64_t length = 0;
      if (!pb_decode_varint(&stream, &length) || length > stream.bytes_left) return malformed();
      field.bytes = rest_.subspan(rest_.size() - stream.bytes_left, static_cast<size_t>(length));
      stream.bytes_left -= static_cast<size_t>(length);
      break;
    }
    default:  // groups are not used by ONNX
      return malformed();
  }
  rest_ = rest_.last(stream.bytes_left);
  return true;
}

Result<> append_varints(const Field& field, std::vector<int64_t>& values) {
  if (field.type == WireType::varint) {
    values.push_back(field.integer());
    return {};
  }
  if (field.type != WireType::bytes) return {};
  pb_istream_t stream = stream_over(field.bytes);
  while (stream.bytes_left > 0) {
    uint64_t value = 0;
    if (!pb_decode_varint(&stream, &value)) return malformed();
    values.push_back(static_cast<int64_t>(value));
  }
  return {};
}

Result<> append_floats(const Field& field, std::vector<double>& values) {
  if (field.type == WireType::fixed32) {
    values.push_back(field.number32());
    return {};
  }
  if (field.type != WireType::bytes) return {};
  pb_istream_t stream = stream_over(field.bytes);
  while (stream.bytes_left > 0) {
    uint32_t word = 0;
    if (!pb_decode_fixed32(&stream, &word)) return malformed();
    values.push_back(std::bit_cast<float>(word));
  }
  return {};
}

}  // namespace gossamer::onnx
