// What RPC sends: one frame a WebSocket message, docs/specs/rpc.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gossamer::rpc {

constexpr int protocol_version = 1;
// Of a frame. Files go in pieces, tensors do not.
constexpr uint64_t most_frame_bytes = uint64_t{1} << 31;
// Of the first one: who has not shown the token takes no memory.
constexpr uint64_t most_hello_bytes = 16 << 10;
constexpr uint64_t piece_bytes = uint64_t{4} << 20;

enum class Kind : uint32_t {
  request = 0,
  answer = 1,
  error = 2,     // JSON: "message"
  progress = 3,  // of a request that goes on
  gone = 4,      // to a device: this client has left
};

// The first 16 bytes, little-endian: peer, id, kind, bytes of the JSON that follows; the rest is
// the payload. `peer` is whom a client asks, or who asks a device; 0 is the server itself.
struct Prefix {
  uint32_t peer = 0, id = 0;
  Kind kind = Kind::request;
  uint32_t json_bytes = 0;
};
constexpr size_t prefix_bytes = 16;

struct Frame {
  Prefix prefix;
  std::string json;
  std::vector<std::byte> payload;
};

// Errors: shorter than it says, a kind that is none.
Result<Prefix> parse_prefix(std::span<const std::byte> message);
Result<Frame> parse_frame(std::span<const std::byte> message);
std::vector<std::byte> write_frame(uint32_t peer, uint32_t id, Kind kind, std::string_view json,
                                   std::span<const std::byte> payload = {});
// Of a whole message.
void set_peer(std::span<std::byte> message, uint32_t peer);

// Why a request failed. `left`: the device went away before it answered.
struct Fault {
  std::string message;
  bool left = false;
};
// {"message": ..., "left": true} and back; a text that is no such JSON is its own message.
std::string fault_json(const Fault& fault);
Fault fault_of(std::string_view json);

}  // namespace gossamer::rpc
