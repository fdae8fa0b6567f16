// Protobuf's wire format without descriptors: the fields of a message one after another, as views
// of its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gossamer::onnx {

using Bytes = std::span<const std::byte>;

enum class WireType : uint8_t { varint, fixed64, bytes, fixed32 };

struct Field {
  uint32_t number = 0;
  WireType type = WireType::varint;
  uint64_t scalar = 0;  // varint, fixed64, fixed32
  Bytes bytes;          // length-delimited

  bool is(uint32_t wanted, WireType wanted_type) const {
    return number == wanted && type == wanted_type;
  }
  int64_t integer() const { return static_cast<int64_t>(scalar); }
  float number32() const;
  std::string_view text() const;
};

// Walks over one message. The bytes must outlive what is read from them.
class MessageReader {
 public:
  explicit MessageReader(Bytes bytes) : rest_(bytes) {}
  // Reads the next field; false at the end. An error where the bytes are not protobuf or end too
  // early.
  Result<bool> next(Field& field);

 private:
  Bytes rest_;
};

// Appends a repeated scalar, packed (`field.bytes`) or one at a time.
Result<> append_varints(const Field& field, std::vector<int64_t>& values);
Result<> append_floats(const Field& field, std::vector<double>& values);

}  // namespace gossamer::onnx
