#include "gossamer/devices/rpc_device.h"

#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "api/files.h"
#include "gossamer/runners/time_limit.h"
#include "package/sha256.h"
#include "rpc/tensors.h"
#include "runtime/model.h"
#include "runtime/wasm/device.h"

namespace gossamer::command {
namespace {

namespace fs = std::filesystem;

using rapidjson::Value;
using Json = rapidjson::Writer<rapidjson::StringBuffer>;

struct Reply {
  std::string json = "{}";
  std::vector<std::byte> payload = {};
};

std::string text_of(const rapidjson::StringBuffer& text) {
  return {text.GetString(), text.GetSize()};
}

Result<std::string> text_in(const Value& json, const char* name) {
  if (!json.HasMember(name) || !json[name].IsString())
    return fail(cat("the request has no text \"", name, "\""));
  return std::string(json[name].GetString(), json[name].GetStringLength());
}

Result<uint64_t> number_in(const Value& json, const char* name) {
  if (!json.HasMember(name) || !json[name].IsUint64())
    return fail(cat("the request has no number \"", name, "\""));
  return json[name].GetUint64();
}

Result<const Value*> list_in(const Value& json, const char* name) {
  if (!json.HasMember(name) || !json[name].IsArray())
    return fail(cat("the request has no list \"", name, "\""));
  return &json[name];
}

class Device {
 public:
  Result<Reply> answer(uint32_t client, const Value& request, std::vector<std::byte> payload) {
    GS_ASSIGN(const std::string asked, text_in(request, "do"));
    if (asked == "have") return have(request);
    if (asked == "put") return put(request, payload);
    if (asked == "load" || asked == "run") {
      const bool limited = request.HasMember("seconds") && request["seconds"].IsNumber();
      const double seconds = limited ? request["seconds"].GetDouble() : 0;
      // Kernels run in loads, too: those that pack weights.
      const TimeLimit limit(seconds, late_status, [&] {
        std::fprintf(stderr, "gossamer: a %s took longer than %g s\n", asked.c_str(), seconds);
      });
      auto reply = asked == "load" ? load(client, request) : run(request, payload);
      // It may have taken a device along.
      if (!reply) shared_->forget();
      return reply;
    }
    if (asked != "free") return fail("this device does not know the request");
    GS_ASSIGN(const uint64_t number, number_in(request, "model"));
    models_.erase(number);
    return Reply{};
  }

  void leave(uint32_t client) {
    std::erase_if(models_, [&](const auto& one) { return one.second.client == client; });
    if (models_.empty()) shared_->forget();
  }

 private:
  struct Loaded {
    uint32_t client = 0;
    std::unique_ptr<runtime::Model> model;
  };
  struct Stored {
    Bytes bytes;
    uint64_t total = 0;
    bool whole = false;
  };

  Result<Reply> have(const Value& request) {
    GS_ASSIGN(const Value* list, list_in(request, "files"));
    rapidjson::StringBuffer text;
    Json json(text);
    json.StartObject();
    json.Key("missing");
    json.StartArray();
    for (const auto& file : list->GetArray()) {
      if (!file.IsObject()) return fail("a file is no object");
      GS_ASSIGN(const std::string hash, text_in(file, "hash"));
      const auto found = files_.find(hash);
      if (found == files_.end() || !found->second.whole) json.String(hash);
    }
    json.EndArray();
    json.EndObject();
    return Reply{text_of(text)};
  }

  Result<Reply> put(const Value& request, std::span<const std::byte> piece) {
    GS_ASSIGN(const std::string hash, text_in(request, "hash"));
    GS_ASSIGN(const uint64_t at, number_in(request, "at"));
    GS_ASSIGN(const uint64_t total, number_in(request, "bytes"));
    Stored& file = files_[hash];
    if (at == 0) file = {{}, total, false};
    if (file.whole || file.total != total || file.bytes.size() != at || piece.size() > total - at)
      return fail("a piece of a file came out of order");
    file.bytes.insert(file.bytes.end(), piece.begin(), piece.end());
    if (file.bytes.size() < total) return Reply{};
    file.whole = package::sha256(file.bytes) == hash;
    if (file.whole) return Reply{};
    files_.erase(hash);
    return fail("a file arrived with other bytes than were sent");
  }

  Result<Reply> load(uint32_t client, const Value& request) {
    GS_ASSIGN(const Value* list, list_in(request, "files"));
    package::Files files;
    std::vector<std::shared_ptr<const runtime::MappedFile>> held;  // shared files end with users
    for (const auto& file : list->GetArray()) {
      if (!file.IsObject()) return fail("a file is no object");
      GS_ASSIGN(const std::string name, text_in(file, "name"));
      GS_ASSIGN(const std::string hash, text_in(file, "hash"));
      const auto found = files_.find(hash);
      if (found == files_.end() || !found->second.whole)
        return fail(cat("the file ", name, " has not been sent"));
      if (fs::path(name).filename() != name) return fail("a file's name is no plain name");
      if (auto known = shared_->file(hash)) {
        held.push_back(std::move(known));
      } else {
        files.push_back({name, found->second.bytes});
      }
    }
    GS_ASSIGN(const TemporaryFolder temporary, TemporaryFolder::create());
    GS_TRY(write_package(temporary.path() / "package", files));
    runtime::LoadOptions options;
    options.shared = shared_;
    if (request.HasMember("threads") && request["threads"].IsInt())
      options.threads = request["threads"].GetInt();
    GS_ASSIGN(auto model,
              runtime::Model::load((temporary.path() / "package").string(), std::move(options)));
    const uint64_t number = next_++;
    models_[number] = {client, std::move(model)};
    return Reply{cat("{\"model\":", number, "}")};
  }

  Result<Reply> run(const Value& request, std::span<const std::byte> payload) {
    GS_ASSIGN(const uint64_t number, number_in(request, "model"));
    GS_ASSIGN(const uint64_t runs, number_in(request, "runs"));
    GS_ASSIGN(const Value* list, list_in(request, "inputs"));
    const auto found = models_.find(number);
    if (found == models_.end()) return fail("there is no such model here (any more): load it");
    runtime::Model& model = *found->second.model;
    GS_ASSIGN(auto inputs, rpc::read_tensors(*list, payload));
    std::vector<runtime::HostTensor> feeds;
    for (const runtime::Port& port : model.inputs()) {
      const auto given = std::ranges::find(inputs, port.name, &rpc::NamedTensor::name);
      if (given == inputs.end()) return fail(cat("input \"", port.name, "\" is missing"));
      feeds.push_back(std::move(given->tensor));
    }
    const std::string bench = request.HasMember("bench") && request["bench"].IsString()
                                  ? request["bench"].GetString()
                                  : "";
    if (!bench.empty()) return time(model, feeds, static_cast<int>(runs), bench == "profile");
    std::vector<runtime::HostTensor> outputs;
    double fastest = 0;
    for (uint64_t turn = 0; turn < std::max<uint64_t>(runs, 1); ++turn) {
      GS_TRY(model.run(feeds, outputs));
      const double ms = model.report().last_run_ms;
      fastest = turn == 0 ? ms : std::min(fastest, ms);
    }
    std::vector<rpc::NamedTensor> named;
    for (size_t at = 0; at < outputs.size(); ++at)
      named.push_back({model.outputs()[at].name, std::move(outputs[at])});
    Reply reply;
    const std::string tensors = rpc::write_tensors(named, reply.payload);
    reply.json =
        cat("{\"ms\":", fastest, ",\"report\":{\"kernels\":[]},\"outputs\":", tensors, "}");
    return reply;
  }

  static Result<Reply> time(runtime::Model& model, const std::vector<runtime::HostTensor>& feeds,
                            int runs, bool profile) {
    rapidjson::StringBuffer text;
    Json json(text);
    json.StartObject();
    json.Key("bench");
    json.StartObject();
    json.Key("adapter");
    json.String(model.report().device);
    json.Key("times");
    json.StartArray();
    std::vector<runtime::HostTensor> outputs;
    for (int run = -1; !profile && run < runs; ++run) {  // the first warms up
      const auto begin = std::chrono::steady_clock::now();
      GS_TRY(model.run(feeds, outputs));
      const std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - begin;
      if (run >= 0) json.Double(ms.count());
    }
    json.EndArray();
    if (profile) {
      GS_ASSIGN(const Profile found, model.profile(feeds, {runs}));
      json.Key("table");
      json.String(found.table());
      json.Key("trace");
      json.String(found.trace());
      json.Key("profile");
      const std::string all = found.json();
      json.RawValue(all.data(), all.size(), rapidjson::kObjectType);
    }
    json.EndObject();
    json.EndObject();
    return Reply{text_of(text)};
  }

  std::map<std::string, Stored> files_;
  std::map<uint64_t, Loaded> models_;
  const std::shared_ptr<runtime::Shared> shared_ = std::make_shared<runtime::Shared>();
  uint64_t next_ = 1;
};

// Frames in the order they came, off the connection's thread.
class Inbox {
 public:
  void put(rpc::Frame frame) {
    {
      const std::lock_guard lock(mutex_);
      frames_.push_back(std::move(frame));
    }
    wake_.notify_one();
  }
  // Nothing when the connection has ended.
  std::optional<rpc::Frame> take() {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [&] { return ended_ || !frames_.empty(); });
    if (frames_.empty()) return std::nullopt;
    rpc::Frame frame = std::move(frames_.front());
    frames_.pop_front();
    return frame;
  }
  void end() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    wake_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<rpc::Frame> frames_;
  bool ended_ = false;
};

void serve(rpc::Connection& connection, Device& device, const rpc::Frame& frame) {
  const auto [peer, id, kind, length] = frame.prefix;
  if (kind == rpc::Kind::gone) return device.leave(peer);
  rapidjson::Document request;
  request.Parse<rapidjson::kParseIterativeFlag>(frame.json.data(), frame.json.size());
  Result<Reply> reply = fail("the request is malformed");
  if (!request.HasParseError() && request.IsObject())
    reply = device.answer(peer, request, frame.payload);
  connection.send(reply ? rpc::write_frame(peer, id, rpc::Kind::answer, reply->json, reply->payload)
                        : rpc::write_frame(peer, id, rpc::Kind::error,
                                           rpc::fault_json({reply.error().to_string()})));
}

std::string hello_json(const rpc::Address& address, const std::string& name,
                       const std::string& session) {
  rapidjson::StringBuffer text;
  Json json(text);
  json.StartObject();
  const auto field = [&](const char* key, const std::string& value) {
    json.Key(key);
    json.String(value);
  };
  field("do", "hello");
  json.Key("protocol");
  json.Int(rpc::protocol_version);
  field("role", "device");
  field("token", address.token);
  field("name", name);
  field("session", session);
  const std::string engine = runtime::wasm_engine();
  field("about", cat("gossamer " GOSSAMER_VERSION, engine.empty() ? "" : ", ", engine));
  json.Key("targets");
  json.StartArray();
  json.String("cpu");
  if (!engine.empty()) json.String("wasm");
  json.EndArray();
  json.EndObject();
  return text_of(text);
}

}  // namespace

Result<> join_as_device(const Joining& joining) {
  const auto& [address, name, session, again] = joining;
  const std::string hello = hello_json(address, name, session);
  Device device;
  for (bool joined = again;; joined = true) {
    Inbox inbox;
    auto connection = rpc::Connection::open(address, hello,
                                            [&](rpc::Frame frame) { inbox.put(std::move(frame)); });
    if (!connection && !joined) return std::unexpected(connection.error());
    if (connection) {
      std::fprintf(stderr, "gossamer: joined as %s\n", name.c_str());
      std::thread watch([&] {
        (*connection)->wait();
        inbox.end();
      });
      while (const auto frame = inbox.take()) serve(**connection, device, *frame);
      watch.join();
      std::fprintf(stderr, "gossamer: the server is gone, looking for it\n");
    }
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

}  // namespace gossamer::command
