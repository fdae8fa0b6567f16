#include "gossamer/devices/web_harness.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include "api/files.h"
#include "gossamer/command_line.h"
#include "gossamer/devices/child_process.h"
#include "gossamer/devices/rpc_harness.h"
#include "rpc/tensors.h"

namespace gossamer::command {
namespace {

namespace fs = std::filesystem;

using Json = rapidjson::Writer<rapidjson::StringBuffer>;

class BrowserHarness : public Harness {
 public:
  explicit BrowserHarness(ChildProcess process) : process_(std::move(process)) {}
  Result<std::string> ask(const std::string& line) override { return process_.ask(line); }

 private:
  ChildProcess process_;
};

}  // namespace

void add_browser_options(const Command& command, BrowserOptions& options) {
  command.add_option("--browser", options.name, "Browser of the web targets")
      .one_of({"chromium", "firefox"});
  command.add_option("--browser-path", options.path, "Another program of that browser");
  command.add_option("--device", options.device,
                     "In place of a browser here: rpc://HOST:PORT/NAME?token=TOKEN, a device that "
                     "has joined `gossamer rpc`; or native, without a browser: webgpu through a "
                     "library of webgpu.h, webgl through OpenGL, wasm through wasmtime");
  command.add_option("--browser-args", options.args, "Further flags for it, in one word");
}

std::string wrong_device(const std::string& target, const std::string& device) {
  if (device != native_device || runs_here_on(target, device)) return {};
  return cat("--device native has no target ", target,
             ", only webgpu, webgl, wasm, cpu, opencl and opengl");
}

Result<std::unique_ptr<Harness>> start_harness(const BrowserOptions& options,
                                               const fs::path& outputs) {
  if (!options.device.empty()) return start_rpc_harness(options.device, outputs);
  GS_ASSIGN(const fs::path script, find_web_file("tests/run_cases.mjs"));
  std::vector<std::string> arguments = {script.string(), "--browser", options.name, "--out",
                                        outputs.string()};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) arguments.insert(arguments.end(), {name, value});
  };
  add("--browser-path", options.path);
  add("--browser-args", options.args);
  add("--limits", options.limits);
  GS_ASSIGN(ChildProcess harness, ChildProcess::start_node(std::move(arguments)));
  GS_TRY(harness.receive());  // {"ready": true, ...}
  return std::make_unique<BrowserHarness>(std::move(harness));
}

Result<std::string> write_inputs(const std::vector<Port>& ports,
                                 const std::vector<ops::TensorData>& feeds,
                                 const fs::path& folder) {
  rapidjson::StringBuffer text;
  Json json(text);
  json.StartArray();
  for (size_t at = 0; at < feeds.size(); ++at) {
    const fs::path file = folder / cat("input_", at, ".bin");
    const std::string strings = rpc::strings_json(feeds[at].strings);
    GS_TRY(write_file(file, feeds[at].dtype == ir::DType::string
                                ? std::as_bytes(std::span(strings))
                                : std::span<const std::byte>(feeds[at].bytes)));
    json.StartObject();
    json.Key("name");
    json.String(ports[at].name);
    json.Key("file");
    json.String(file.string());
    json.Key("dtype");
    json.String(std::string(ir::name_of(feeds[at].dtype)));
    json.Key("shape");
    json.StartArray();
    for (int64_t extent : feeds[at].shape) json.Int64(extent);
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  return text.GetString();
}

}  // namespace gossamer::command
