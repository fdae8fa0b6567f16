// Protobuf messages as strings, with nanopb's encoder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "pb_encode.h"

namespace gossamer::onnx {

// A message under construction: `Message().integer(1, 8).text(2, "x").bytes`.
struct Message {
  std::string bytes;

  Message& integer(uint32_t field, int64_t value) {
    return write([&](pb_ostream_t* s) {
      return pb_encode_tag(s, PB_WT_VARINT, field) &&
             pb_encode_varint(s, static_cast<uint64_t>(value));
    });
  }
  Message& real(uint32_t field, float value) {
    return write([&](pb_ostream_t* s) {
      return pb_encode_tag(s, PB_WT_32BIT, field) && pb_encode_fixed32(s, &value);
    });
  }
  Message& text(uint32_t field, std::string_view value) {
    return write([&](pb_ostream_t* s) {
      return pb_encode_tag(s, PB_WT_STRING, field) &&
             pb_encode_string(s, reinterpret_cast<const pb_byte_t*>(value.data()), value.size());
    });
  }
  Message& add(uint32_t field, const Message& value) { return text(field, value.bytes); }

 private:
  template <class Encode>
  Message& write(Encode&& encode) {
    pb_ostream_t sizing = PB_OSTREAM_SIZING;
    encode(&sizing);
    size_t start = bytes.size();
    bytes.resize(start + sizing.bytes_written);
    pb_ostream_t stream =
        pb_ostream_from_buffer(reinterpret_cast<pb_byte_t*>(&bytes[start]), sizing.bytes_written);
    encode(&stream);
    return *this;
  }
};

}  // namespace gossamer::onnx
