#include "rpc/remote.h"

#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>
#include <tuple>

#include "package/sha256.h"
#include "rpc/tensors.h"

namespace gossamer::rpc {
namespace {

// Seconds that a device has to say that it ran out of time, before it is taken for one that says
// nothing.
constexpr double grace = 3;

using Json = rapidjson::Writer<rapidjson::StringBuffer>;

void field(Json& json, const char* key, std::string_view text) {
  json.Key(key);
  json.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

std::string text_of(const rapidjson::StringBuffer& text) {
  return {text.GetString(), text.GetSize()};
}

Result<rapidjson::Document> parse(const std::string& text) {
  rapidjson::Document json;
  json.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseNanAndInfFlag>(text.data(),
                                                                              text.size());
  if (json.HasParseError() || !json.IsObject()) return fail("the device answered with no JSON");
  return json;
}

DeviceInfo info_of(const rapidjson::Value& json) {
  DeviceInfo info;
  const auto text = [&](const char* name) -> std::string {
    return json.HasMember(name) && json[name].IsString() ? json[name].GetString() : "";
  };
  info.name = text("name");
  info.about = text("about");
  if (json.HasMember("number") && json["number"].IsUint()) info.number = json["number"].GetUint();
  if (json.HasMember("targets") && json["targets"].IsArray())
    for (const auto& target : json["targets"].GetArray())
      if (target.IsString()) info.targets.emplace_back(target.GetString());
  return info;
}

std::string hello_json(const Address& address) {
  rapidjson::StringBuffer text;
  Json json(text);
  json.StartObject();
  field(json, "do", "hello");
  json.Key("protocol");
  json.Int(protocol_version);
  field(json, "role", "client");
  field(json, "token", address.token);
  json.EndObject();
  return text_of(text);
}

// SHA-256. Who loads many packages of one model loads its weights each time, so large files that
// were seen are known by a quicker hash.
std::string hash_of(std::span<const std::byte> bytes) {
  constexpr size_t large = 1 << 20;
  if (bytes.size() < large) return package::sha256(bytes);
  static std::mutex mutex;
  static std::map<std::tuple<uint64_t, uint64_t, size_t>, std::string> known;
  const XXH128_hash_t quick = XXH3_128bits(bytes.data(), bytes.size());
  const std::lock_guard lock(mutex);
  std::string& hash = known[{quick.high64, quick.low64, bytes.size()}];
  if (hash.empty()) hash = package::sha256(bytes);
  return hash;
}

}  // namespace

Result<std::vector<DeviceInfo>> RemoteDevice::list(const Address& address) {
  GS_ASSIGN(const auto connection, Connection::open(address, hello_json(address)));
  const auto answer = connection->ask(0, R"({"do":"list"})");
  if (!answer) return fail(answer.error().message);
  GS_ASSIGN(const auto json, parse(answer->json));
  std::vector<DeviceInfo> devices;
  if (json.HasMember("devices") && json["devices"].IsArray())
    for (const auto& device : json["devices"].GetArray())
      if (device.IsObject()) devices.push_back(info_of(device));
  return devices;
}

Result<std::shared_ptr<RemoteDevice>> RemoteDevice::connect(const Address& address,
                                                            double seconds) {
  auto device = std::shared_ptr<RemoteDevice>(new RemoteDevice());
  device->wanted_ = address.device;
  device->seconds_ = seconds;
  GS_ASSIGN(device->connection_, Connection::open(address, hello_json(address)));
  GS_TRY(device->find(seconds));
  return device;
}

Result<> RemoteDevice::find(double seconds) {
  rapidjson::StringBuffer text;
  Json json(text);
  json.StartObject();
  field(json, "do", "wait");
  field(json, "name", wanted_);
  json.Key("seconds");
  json.Double(seconds);
  json.EndObject();
  const auto answer = connection_->ask(0, text_of(text));
  if (!answer)
    return fail_at("RPC", answer.error().message,
                   "open the server's page, or run `gossamer rpc --join` where the device is");
  GS_ASSIGN(const auto found, parse(answer->json));
  info_ = info_of(found);
  wanted_ = info_.name;  // the same one after it has left
  left_ = false;
  ++generation_;
  return {};
}

DeviceInfo RemoteDevice::info() const {
  const std::lock_guard lock(mutex_);
  return info_;
}

void RemoteDevice::limit_loads(double seconds) {
  const std::lock_guard lock(mutex_);
  load_seconds_ = seconds;
}

RemoteDevice::Sent RemoteDevice::sent() const {
  const std::lock_guard lock(mutex_);
  return sent_;
}

Result<uint64_t> RemoteDevice::present() {
  const std::lock_guard lock(mutex_);
  if (left_) GS_TRY(find(seconds_));
  return generation_;
}

Result<Connection::Answer> RemoteDevice::ask(std::string_view json,
                                             std::span<const std::byte> payload,
                                             uint64_t generation, double seconds) {
  DeviceInfo info;
  {
    const std::lock_guard lock(mutex_);
    info = info_;
    if (generation != generation_ || left_) return fail_at(info.name, "has left");
  }
  const auto begin = std::chrono::steady_clock::now();
  auto answer = connection_->ask(info.number, json, payload, seconds > 0 ? seconds + grace : 0);
  if (answer) return *std::move(answer);
  if (answer.error().left) {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    const std::lock_guard lock(mutex_);
    if (generation == generation_) left_ = true;
    if (seconds > 0 && took.count() >= seconds)
      return fail_at(info.name, cat("took longer than ", seconds, " s and was ended"));
    return fail(answer.error().message);
  }
  return fail_at(info.name, answer.error().message);
}

// Whoever lets go of a model does not wait for what the device is doing.
void RemoteDevice::free(int model, uint64_t generation) {
  const std::lock_guard lock(mutex_);
  if (generation != generation_ || left_) return;
  connection_->ask(info_.number, cat("{\"do\":\"free\",\"model\":", model, "}"), {},
                   [](const Connection::Reply&) {});
}

Result<> RemoteDevice::send_files(const Stored& stored, uint64_t generation,
                                  const OnSent& on_sent) {
  rapidjson::StringBuffer text;
  Json json(text);
  json.StartObject();
  field(json, "do", "have");
  json.Key("files");
  json.StartArray();
  uint64_t all = 0;
  for (const StoredFile& file : stored) {
    json.StartObject();
    field(json, "hash", file.hash);
    json.Key("bytes");
    json.Uint64(file.bytes->size());
    json.EndObject();
    all += file.bytes->size();
  }
  json.EndArray();
  json.EndObject();
  GS_ASSIGN(const auto answer, ask(text_of(text), {}, generation));
  GS_ASSIGN(const auto told, parse(answer.json));
  std::set<std::string> missing;
  if (told.HasMember("missing") && told["missing"].IsArray())
    for (const auto& hash : told["missing"].GetArray())
      if (hash.IsString()) missing.insert(hash.GetString());
  uint64_t sent = 0, left = 0;
  auto uncounted = missing;
  for (const StoredFile& file : stored)
    if (uncounted.erase(file.hash) > 0) left += file.bytes->size();
  if (on_sent) on_sent(all - left, all);
  for (const StoredFile& file : stored) {
    if (missing.erase(file.hash) == 0) continue;
    const std::span<const std::byte> bytes = *file.bytes;
    for (size_t start = 0; start == 0 || start < bytes.size(); start += piece_bytes) {
      rapidjson::StringBuffer piece_text;
      Json piece(piece_text);
      piece.StartObject();
      field(piece, "do", "put");
      field(piece, "hash", file.hash);
      piece.Key("at");
      piece.Uint64(start);
      piece.Key("bytes");
      piece.Uint64(bytes.size());
      piece.EndObject();
      const size_t count = std::min<size_t>(piece_bytes, bytes.size() - start);
      GS_TRY(ask(text_of(piece_text), bytes.subspan(start, count), generation));
      left -= count;
      if (on_sent) on_sent(all - left, all);
    }
    sent += bytes.size();
  }
  const std::lock_guard lock(mutex_);
  sent_.sent += sent;
  sent_.all += all;
  return {};
}

Result<int> RemoteDevice::load_stored(const Stored& stored, const std::string& target, int threads,
                                      uint64_t generation, const OnSent& on_sent) {
  GS_TRY(send_files(stored, generation, on_sent));
  rapidjson::StringBuffer text;
  Json json(text);
  json.StartObject();
  field(json, "do", "load");
  field(json, "target", target);
  if (threads > 0) {
    json.Key("threads");
    json.Int(threads);
  }
  double seconds = 0;
  {
    const std::lock_guard lock(mutex_);
    seconds = load_seconds_;
  }
  if (seconds > 0) {
    json.Key("seconds");
    json.Double(seconds);
  }
  json.Key("files");
  json.StartArray();
  for (const StoredFile& file : stored) {
    json.StartObject();
    field(json, "name", file.name);
    field(json, "hash", file.hash);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  GS_ASSIGN(const auto answer, ask(text_of(text), {}, generation, seconds));
  GS_ASSIGN(const auto told, parse(answer.json));
  if (!told.HasMember("model") || !told["model"].IsInt())
    return fail("the device answered without a model");
  return told["model"].GetInt();
}

Result<RemoteDevice::Stored> RemoteDevice::store(package::Files files) {
  Stored stored;
  const std::lock_guard lock(mutex_);
  for (package::File& file : files) {
    const bool told = file.bytes.empty() && !file.sha256.empty();
    std::string hash = told ? file.sha256 : hash_of(file.bytes);
    std::weak_ptr<const Bytes>& known = known_[hash];
    auto bytes = known.lock();
    if (!bytes && told && file.size > 0)
      return fail_at(file.name, "no package before had a file of its hash");
    if (!bytes) bytes = std::make_shared<const Bytes>(std::move(file.bytes));
    known = bytes;
    stored.push_back({file.name, std::move(hash), std::move(bytes)});
  }
  latest_ = stored;
  std::erase_if(known_, [](const auto& one) { return one.second.expired(); });
  return stored;
}

Result<std::unique_ptr<RemoteModel>> RemoteDevice::load(package::Files files,
                                                        const std::string& target, int threads,
                                                        const OnSent& on_sent) {
  auto model = std::unique_ptr<RemoteModel>(new RemoteModel());
  model->device_ = shared_from_this();
  model->target_ = target;
  model->threads_ = threads;
  GS_ASSIGN(model->stored_, store(std::move(files)));
  GS_ASSIGN(model->generation_, present());
  GS_ASSIGN(model->number_,
            load_stored(model->stored_, target, threads, model->generation_, on_sent));
  return model;
}

RemoteModel::~RemoteModel() {
  if (!device_ || number_ == 0) return;
  device_->free(number_, generation_);
}

Result<RunAnswer> RemoteModel::run(const std::vector<NamedTensor>& inputs,
                                   const RunOptions& options) {
  int number = 0;
  uint64_t generation = 0;
  {
    const std::lock_guard lock(mutex_);
    GS_ASSIGN(generation, device_->present());
    if (generation != generation_) {
      GS_ASSIGN(number_, device_->load_stored(stored_, target_, threads_, generation));
      generation_ = generation;
    }
    number = number_;
  }
  rapidjson::StringBuffer text;
  Json json(text);
  std::vector<std::byte> payload;
  json.StartObject();
  field(json, "do", "run");
  json.Key("model");
  json.Int(number);
  json.Key("runs");
  json.Int(options.runs);
  if (!options.bench.empty()) field(json, "bench", options.bench);
  if (!options.kernels.empty()) {
    json.Key("kernels");
    json.StartArray();
    for (const int kernel : options.kernels) json.Int(kernel);
    json.EndArray();
  }
  if (options.min_ms > 0) {
    json.Key("minMs");
    json.Double(options.min_ms);
  }
  if (options.seconds > 0) {
    json.Key("seconds");
    json.Double(options.seconds);
  }
  json.Key("inputs");
  const std::string tensors = write_tensors(inputs, payload);
  json.RawValue(tensors.data(), tensors.size(), rapidjson::kArrayType);
  json.EndObject();
  GS_ASSIGN(auto answer, device_->ask(text_of(text), payload, generation, options.seconds));
  GS_ASSIGN(const auto told, parse(answer.json));
  RunAnswer result;
  if (told.HasMember("outputs")) {
    GS_ASSIGN(result.outputs, read_tensors(told["outputs"], answer.payload));
  }
  if (told.HasMember("ms") && told["ms"].IsNumber()) result.milliseconds = told["ms"].GetDouble();
  result.json = std::move(answer.json);
  return result;
}

}  // namespace gossamer::rpc
