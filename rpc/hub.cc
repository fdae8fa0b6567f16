#include "rpc/hub.h"

#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>

#include "base/strings.h"
#include "net/secret.h"

namespace gossamer::rpc {
namespace {

using Json = rapidjson::Writer<rapidjson::StringBuffer>;

Message message_of(uint32_t peer, uint32_t id, Kind kind, std::string_view json) {
  return std::make_shared<std::vector<std::byte>>(write_frame(peer, id, kind, json));
}

std::string text_in(const rapidjson::Value& object, const char* name) {
  const auto found = object.FindMember(name);
  if (found == object.MemberEnd() || !found->value.IsString()) return {};
  return {found->value.GetString(), found->value.GetStringLength()};
}

bool parse(rapidjson::Document& document, const std::string& json) {
  document.Parse<rapidjson::kParseIterativeFlag>(json.data(), json.size());
  return !document.HasParseError() && document.IsObject();
}

// What devices say of themselves, in lists and on terminals.
std::string short_line(const std::string& text) { return one_line(text.substr(0, 200)); }

void write(Json& json, std::string_view text) {
  json.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

}  // namespace

void Hub::notice(const std::string& line) const {
  if (on_notice_) on_notice_(line);
}

uint32_t Hub::join(Link& link) {
  peers_[next_].link = &link;
  return next_++;
}

void Hub::leave(uint32_t number) {
  const auto found = peers_.find(number);
  if (found == peers_.end()) return;
  const Peer left = std::move(found->second);
  peers_.erase(found);
  std::erase_if(awaited_, [&](const Awaited& one) { return one.client == number; });
  if (left.role == Peer::device) {
    notice(cat(left.name, " has left"));
    for (const auto& [client, id] : left.pending) {
      const auto asker = peers_.find(client);
      if (asker == peers_.end()) continue;
      asker->second.pending.erase({number, id});
      asker->second.link->send(
          message_of(number, id, Kind::error,
                     fault_json({cat(left.name,
                                     " left while the request was under way (its page was reloaded "
                                     "or closed, or its program ended)"),
                                 true})));
    }
    return;
  }
  for (auto& [other, peer] : peers_) {
    if (peer.role != Peer::device) continue;
    std::erase_if(peer.pending, [&](const auto& one) { return one.first == number; });
    if (left.role == Peer::client) peer.link->send(message_of(number, 0, Kind::gone, "{}"));
  }
}

bool Hub::knows(uint32_t number) const {
  const auto found = peers_.find(number);
  return found != peers_.end() && found->second.role != Peer::unknown;
}

uint32_t Hub::receive(uint32_t number, Message message) {
  const auto found = peers_.find(number);
  if (found == peers_.end()) return 0;
  Peer& peer = found->second;
  const auto prefix = parse_prefix(*message);
  if (!prefix) {
    refuse(peer, 0, prefix.error().message);
    return 0;
  }
  if (peer.role != Peer::unknown && prefix->peer != 0)
    return forward(number, peer, *prefix, message);
  const auto frame = parse_frame(*message);
  if (peer.role == Peer::unknown)
    hello(number, peer, *frame);
  else
    serve(number, *frame);
  return 0;
}

void Hub::refuse(Peer& peer, uint32_t id, std::string_view message) {
  peer.link->send(message_of(0, id, Kind::error, fault_json({std::string(message)})));
  peer.link->close();
}

void Hub::answer(uint32_t number, uint32_t id, std::string_view json) {
  peers_.at(number).link->send(message_of(0, id, Kind::answer, json));
}

void Hub::hello(uint32_t number, Peer& peer, const Frame& frame) {
  rapidjson::Document json;
  const uint32_t id = frame.prefix.id;
  if (!parse(json, frame.json) || text_in(json, "do") != "hello")
    return refuse(peer, id, "the first request is hello");
  if (!json.HasMember("protocol") || !json["protocol"].IsInt() ||
      json["protocol"].GetInt() != protocol_version)
    return refuse(peer, id,
                  cat("this server speaks version ", protocol_version,
                      " of the protocol: take one release on both sides"));
  if (!net::equal_secrets(token_, text_in(json, "token")))
    return refuse(peer, id, "the token is wrong: the server's first line says the right one");
  const std::string role = text_in(json, "role");
  if (role != "client" && role != "device") return refuse(peer, id, "role is client or device");
  if (role == "client") {
    peer.role = Peer::client;
    return answer(number, id, "{}");
  }
  const std::string wanted = short_line(text_in(json, "name"));
  // The same device on a new connection: the old one is dead, whatever the network says of it.
  peer.session = text_in(json, "session");
  for (const auto& [other, old] : peers_) {
    if (old.role != Peer::device || old.session.empty() || old.session != peer.session) continue;
    old.link->close();
    leave(other);
    break;
  }
  peer.name = free_name(wanted.empty() ? "device" : wanted);
  peer.about = short_line(text_in(json, "about"));
  if (json.HasMember("targets") && json["targets"].IsArray())
    for (const auto& target : json["targets"].GetArray())
      if (target.IsString() && peer.targets.size() < 16)
        peer.targets.push_back(short_line(target.GetString()));
  peer.role = Peer::device;
  answer(number, id, device_json(number));
  std::string targets;
  for (const std::string& target : peer.targets)
    targets += cat(targets.empty() ? "" : ", ", target);
  notice(cat(peer.name, " has joined: ", targets, peer.about.empty() ? "" : "; ", peer.about));
  tell_awaiting();
}

// The name, or the name with a number where a device has it.
std::string Hub::free_name(const std::string& wanted) const {
  std::set<std::string_view> taken;
  for (const auto& [number, peer] : peers_)
    if (peer.role == Peer::device) taken.insert(peer.name);
  std::string name = wanted;
  for (int copy = 2; taken.contains(name); ++copy) name = cat(wanted, "-", copy);
  return name;
}

uint32_t Hub::device_named(std::string_view name) const {
  for (const auto& [number, peer] : peers_)
    if (peer.role == Peer::device && (name.empty() || peer.name == name)) return number;
  return 0;
}

std::string Hub::device_json(uint32_t number) const {
  const Peer& peer = peers_.at(number);
  rapidjson::StringBuffer text;
  Json json(text);
  json.StartObject();
  json.Key("number");
  json.Uint(number);
  json.Key("name");
  write(json, peer.name);
  json.Key("about");
  write(json, peer.about);
  json.Key("targets");
  json.StartArray();
  for (const std::string& target : peer.targets) write(json, target);
  json.EndArray();
  json.Key("pending");
  json.Uint64(peer.pending.size());
  json.EndObject();
  return {text.GetString(), text.GetSize()};
}

// What clients ask the server itself: who is there.
void Hub::serve(uint32_t number, const Frame& frame) {
  const uint32_t id = frame.prefix.id;
  rapidjson::Document json;
  const auto wrong = [&](std::string_view message) {
    peers_.at(number).link->send(
        message_of(0, id, Kind::error, fault_json({std::string(message)})));
  };
  if (peers_.at(number).role != Peer::client || frame.prefix.kind != Kind::request ||
      !parse(json, frame.json))
    return wrong("the request is malformed");
  const std::string asked = text_in(json, "do");
  if (asked == "list") {
    std::string list;
    for (const auto& [other, peer] : peers_)
      if (peer.role == Peer::device) list += cat(list.empty() ? "" : ",", device_json(other));
    return answer(number, id, cat("{\"devices\":[", list, "]}"));
  }
  if (asked != "wait") return wrong("the server answers hello, list and wait");
  // For a device of this name, or any: now, when it joins, or after these seconds none.
  double seconds = 0;
  if (json.HasMember("seconds") && json["seconds"].IsNumber())
    seconds = std::clamp(json["seconds"].GetDouble(), 0.0, 86'400.0);
  const auto now = std::chrono::steady_clock::now();
  awaited_.push_back({number, id, text_in(json, "name"),
                      now + std::chrono::milliseconds(static_cast<int64_t>(1000 * seconds))});
  tell_awaiting();
  expire(now);
}

void Hub::tell_awaiting() {
  std::erase_if(awaited_, [&](const Awaited& one) {
    const uint32_t device = device_named(one.name);
    if (device != 0) answer(one.client, one.id, device_json(device));
    return device != 0;
  });
}

void Hub::expire(std::chrono::steady_clock::time_point now) {
  std::erase_if(awaited_, [&](const Awaited& one) {
    if (one.until > now) return false;
    const std::string who = one.name.empty() ? "no device" : cat("no device \"", one.name, "\"");
    peers_.at(one.client)
        .link->send(message_of(0, one.id, Kind::error, fault_json({cat(who, " has joined")})));
    return true;
  });
}

uint32_t Hub::forward(uint32_t number, Peer& peer, const Prefix& prefix, const Message& message) {
  const auto found = peers_.find(prefix.peer);
  const bool from_client = peer.role == Peer::client;
  const bool there =
      found != peers_.end() && found->second.role == (from_client ? Peer::device : Peer::client);
  if (!there) {
    if (from_client)
      peer.link->send(message_of(prefix.peer, prefix.id, Kind::error,
                                 fault_json({"the device has left", true})));
    return 0;  // a client that has left wants no answer
  }
  Peer& other = found->second;
  if (from_client) {
    if (prefix.kind != Kind::request) return 0;
    other.pending.insert({number, prefix.id});
    peer.pending.insert({prefix.peer, prefix.id});
  } else {
    if (!other.pending.contains({number, prefix.id})) return 0;
    if (prefix.kind != Kind::progress) {
      peer.pending.erase({prefix.peer, prefix.id});
      other.pending.erase({number, prefix.id});
    }
  }
  set_peer(*message, number);
  other.link->send(message);
  return prefix.peer;
}

}  // namespace gossamer::rpc
