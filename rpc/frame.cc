#include "rpc/frame.h"

#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cstring>

namespace gossamer::rpc {
namespace {

uint32_t read_word(std::span<const std::byte> bytes, size_t word) {
  uint32_t value = 0;
  for (size_t at = 4; at-- > 0;)
    value = value << 8 | std::to_integer<uint32_t>(bytes[4 * word + at]);
  return value;
}

void write_word(std::span<std::byte> bytes, size_t word, uint32_t value) {
  for (size_t at = 0; at < 4; ++at)
    bytes[4 * word + at] = static_cast<std::byte>(value >> (8 * at));
}

}  // namespace

Result<Prefix> parse_prefix(std::span<const std::byte> message) {
  if (message.size() < prefix_bytes) return fail("a frame is shorter than its prefix");
  const uint32_t kind = read_word(message, 2);
  if (kind > static_cast<uint32_t>(Kind::gone)) return fail(cat("a frame is of kind ", kind));
  const Prefix prefix{read_word(message, 0), read_word(message, 1), static_cast<Kind>(kind),
                      read_word(message, 3)};
  if (prefix.json_bytes > message.size() - prefix_bytes)
    return fail("a frame is shorter than its JSON");
  return prefix;
}

Result<Frame> parse_frame(std::span<const std::byte> message) {
  GS_ASSIGN(const Prefix prefix, parse_prefix(message));
  const auto json = message.subspan(prefix_bytes, prefix.json_bytes);
  const auto payload = message.subspan(prefix_bytes + prefix.json_bytes);
  return Frame{prefix,
               {reinterpret_cast<const char*>(json.data()), json.size()},
               {payload.begin(), payload.end()}};
}

std::vector<std::byte> write_frame(uint32_t peer, uint32_t id, Kind kind, std::string_view json,
                                   std::span<const std::byte> payload) {
  std::vector<std::byte> message(prefix_bytes + json.size() + payload.size());
  write_word(message, 0, peer);
  write_word(message, 1, id);
  write_word(message, 2, static_cast<uint32_t>(kind));
  write_word(message, 3, static_cast<uint32_t>(json.size()));
  if (!json.empty()) std::memcpy(message.data() + prefix_bytes, json.data(), json.size());
  if (!payload.empty())
    std::memcpy(message.data() + prefix_bytes + json.size(), payload.data(), payload.size());
  return message;
}

void set_peer(std::span<std::byte> message, uint32_t peer) { write_word(message, 0, peer); }

std::string fault_json(const Fault& fault) {
  rapidjson::StringBuffer text;
  rapidjson::Writer<rapidjson::StringBuffer> json(text);
  json.StartObject();
  json.Key("message");
  json.String(fault.message);
  if (fault.left) {
    json.Key("left");
    json.Bool(true);
  }
  json.EndObject();
  return {text.GetString(), text.GetSize()};
}

Fault fault_of(std::string_view json) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(json.data(), json.size());
  if (document.HasParseError() || !document.IsObject() || !document.HasMember("message") ||
      !document["message"].IsString())
    return {std::string(json)};
  const auto& message = document["message"];
  return {{message.GetString(), message.GetStringLength()},
          document.HasMember("left") && document["left"].IsTrue()};
}

}  // namespace gossamer::rpc
