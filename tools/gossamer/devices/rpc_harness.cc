#include "gossamer/devices/rpc_harness.h"

#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include "api/files.h"
#include "rpc/tensors.h"

namespace gossamer::command {
namespace {

namespace fs = std::filesystem;

using Json = rapidjson::Writer<rapidjson::StringBuffer>;

// The "inputs" of write_inputs().
Result<std::vector<rpc::NamedTensor>> read_inputs(const rapidjson::Value& list) {
  std::vector<rpc::NamedTensor> tensors;
  for (const auto& input : list.GetArray()) {
    rpc::NamedTensor read;
    read.name = input["name"].GetString();
    read.tensor.dtype = ir::dtype_named(input["dtype"].GetString()).value();
    for (const auto& extent : input["shape"].GetArray())
      read.tensor.shape.push_back(extent.GetInt64());
    GS_ASSIGN(read.tensor.bytes, read_file(input["file"].GetString()));
    if (read.tensor.dtype == ir::DType::string) {
      rapidjson::Document strings;
      strings.Parse(reinterpret_cast<const char*>(read.tensor.bytes.data()),
                    read.tensor.bytes.size());
      for (const auto& string : strings.GetArray())
        read.tensor.strings.emplace_back(string.GetString(), string.GetStringLength());
      read.tensor.bytes.clear();
    }
    tensors.push_back(std::move(read));
  }
  return tensors;
}

class RpcHarness : public Harness {
 public:
  RpcHarness(std::shared_ptr<rpc::RemoteDevice> device, fs::path outputs)
      : device_(std::move(device)), outputs_(std::move(outputs)) {}

  // What goes wrong over there is the answer; the device left, too: the next one may find it again.
  Result<std::string> ask(const std::string& line) override {
    rapidjson::Document request;
    request.Parse<rapidjson::kParseIterativeFlag>(line.c_str());
    GS_CHECK(!request.HasParseError(), line);
    auto answer = run(request);
    if (answer) return answer;
    rapidjson::StringBuffer text;
    Json json(text);
    json.StartObject();
    json.Key("ok");
    json.Bool(false);
    json.Key("error");
    json.String(answer.error().to_string());
    json.EndObject();
    return std::string(text.GetString());
  }

 private:
  Result<std::string> run(const rapidjson::Document& request) {
    const auto& options = request["options"];
    const auto number = [&](const char* name, double otherwise) {
      return options.HasMember(name) ? options[name].GetDouble() : otherwise;
    };
    GS_ASSIGN(auto files, read_package(request["package_dir"].GetString()));
    GS_ASSIGN(const auto inputs, read_inputs(request["inputs"]));
    rpc::RunOptions run;
    run.runs = static_cast<int>(number("runs", 1));
    run.seconds = number("timeout_s", 0);
    if (options.HasMember("bench")) run.bench = options["bench"].GetString();
    device_->limit_loads(run.seconds);
    GS_ASSIGN(const auto model, device_->load(std::move(files), options["device"].GetString(),
                                              static_cast<int>(number("threads", 0))));
    GS_ASSIGN(const rpc::RunAnswer answer, model->run(inputs, run));
    return write(answer);
  }

  Result<std::string> write(const rpc::RunAnswer& answer) {
    std::error_code error;
    fs::create_directories(outputs_, error);
    rapidjson::Document told;
    told.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseNanAndInfFlag>(answer.json.data(),
                                                                                answer.json.size());
    rapidjson::StringBuffer text;
    rapidjson::Writer<rapidjson::StringBuffer, rapidjson::UTF8<>, rapidjson::UTF8<>,
                      rapidjson::CrtAllocator, rapidjson::kWriteNanAndInfFlag>
        json(text);
    json.StartObject();
    json.Key("ok");
    json.Bool(true);
    for (const char* name : {"report", "bench", "ms"}) {
      if (!told.HasMember(name)) continue;
      json.Key(name);
      told[name].Accept(json);
    }
    json.Key("outputs");
    json.StartArray();
    for (size_t at = 0; at < answer.outputs.size(); ++at) {
      const auto& [name, tensor] = answer.outputs[at];
      const fs::path file = outputs_ / cat(at, ".bin");
      const std::string strings = rpc::strings_json(tensor.strings);
      GS_TRY(write_file(file, tensor.dtype == ir::DType::string
                                  ? std::as_bytes(std::span(strings))
                                  : std::span<const std::byte>(tensor.bytes)));
      json.StartObject();
      json.Key("name");
      json.String(name);
      json.Key("dtype");
      json.String(std::string(ir::name_of(tensor.dtype)));
      json.Key("shape");
      json.StartArray();
      for (const int64_t extent : tensor.shape) json.Int64(extent);
      json.EndArray();
      json.Key("file");
      json.String(file.string());
      json.EndObject();
    }
    json.EndArray();
    json.EndObject();
    return std::string(text.GetString());
  }

  std::shared_ptr<rpc::RemoteDevice> device_;
  fs::path outputs_;
};

}  // namespace

Result<std::unique_ptr<Harness>> start_rpc_harness(const std::string& address,
                                                   const fs::path& outputs) {
  GS_ASSIGN(const rpc::Address where, rpc::parse_address(address));
  GS_ASSIGN(auto device, rpc::RemoteDevice::connect(where));
  return std::make_unique<RpcHarness>(std::move(device), outputs);
}

}  // namespace gossamer::command
