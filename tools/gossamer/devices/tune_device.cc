#include "gossamer/devices/tune_device.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "gossamer/judge/compare.h"
#include "gossamer/runners/runner.h"
#include "tune/text.h"

namespace gossamer::command {
namespace {

namespace fs = std::filesystem;

Result<> compare_outputs(const std::vector<rpc::NamedTensor>& actual,
                         const std::vector<rpc::NamedTensor>& expected) {
  if (actual.size() != expected.size()) return fail("a run gave other outputs");
  const auto data = [](const runtime::HostTensor& tensor) {
    return ops::TensorData{
        tensor.dtype, tensor.shape, {tensor.bytes.begin(), tensor.bytes.end()}, tensor.strings};
  };
  for (size_t at = 0; at < actual.size(); ++at) {
    const auto& [name, tensor] = expected[at];
    const bool integers = tensor.dtype != ir::DType::string && !ir::is_float(tensor.dtype);
    // Sums in another order round otherwise: quantized ones by a step.
    const Tolerance tolerance =
        tolerance_of(tensor.dtype, integers && ir::byte_size(tensor.dtype) == 1 ? 1 : 0);
    const Difference difference = compare(data(actual[at].tensor), data(tensor),
                                          {10 * tolerance.absolute, 10 * tolerance.relative});
    if (!difference.agrees)
      return fail(cat("wrong numbers in output \"", name, "\": ", difference.mismatch));
  }
  return {};
}

}  // namespace

RpcMeasurer::RpcMeasurer(MeasureOptions options, std::vector<rpc::NamedTensor> feeds)
    : options_(std::move(options)), feeds_(std::move(feeds)) {}

RpcMeasurer::~RpcMeasurer() {
  models_.clear();
  device_.reset();
  if (device_process_) device_process_->end();
  if (server_) server_->end();
}

Result<std::unique_ptr<RpcMeasurer>> RpcMeasurer::start(MeasureOptions options,
                                                        std::vector<rpc::NamedTensor> feeds) {
  auto made = std::unique_ptr<RpcMeasurer>(new RpcMeasurer(std::move(options), std::move(feeds)));
  const std::string& given = made->options_.browser.device;
  if (given.empty() || given == native_device) {
    GS_TRY(made->start_server());
    GS_TRY(made->start_device());
  } else {
    GS_ASSIGN(made->address_, rpc::parse_address(given));
  }
  GS_TRY(made->connect());
  const rpc::DeviceInfo info = made->device_->info();
  const std::string& target = made->options_.target;
  // Native programs say "cpu" and take whatever this machine's run time has.
  const auto says = [&](std::string_view name) {
    return std::ranges::find(info.targets, name) != info.targets.end();
  };
  const bool native = runs_here(target) || runs_here_on(target, given);
  const bool has = says(target) || (native && says("cpu"));
  if (!has) return fail_at(cat("device ", info.name), cat("has no target ", target));
  return made;
}

Result<> RpcMeasurer::start_server() {
  std::error_code error;
  const std::string program = fs::read_symlink("/proc/self/exe", error).string();
  GS_ASSIGN(auto server,
            ChildProcess::start({program, "rpc", "--with-parent", "--port", "0"}, true));
  server_.emplace(std::move(server));
  GS_ASSIGN(address_text_, server_->receive());
  GS_ASSIGN(address_, rpc::parse_address(address_text_));
  return {};
}

Result<> RpcMeasurer::start_device() {
  const std::string name = cat("tuned-", ++starts_);
  std::error_code error;
  std::vector<std::string> words;
  const bool here = runs_here_on(options_.target, options_.browser.device);
  if (here) {
    words = {fs::read_symlink("/proc/self/exe", error).string(),
             "rpc",
             "--with-parent",
             "--join",
             address_text_,
             "--name",
             name};
  } else {
    GS_ASSIGN(const fs::path script, find_web_file("tests/join_page.mjs"));
    words = {"node",
             script.string(),
             cat("http://", address_.host, ":", address_.port, "/?token=", address_.token,
                 "&name=", name),
             options_.browser.name,
             options_.browser.path,
             options_.browser.args};
  }
  GS_ASSIGN(auto process, ChildProcess::start(std::move(words), here));
  device_process_.emplace(std::move(process));
  address_.device = name;
  return {};
}

Result<> RpcMeasurer::connect() {
  GS_ASSIGN(device_, rpc::RemoteDevice::connect(address_, 60));
  device_->limit_loads(options_.timeout);
  fresh_ = true;
  return {};
}

void RpcMeasurer::replace_device() {
  if (!device_process_) return;
  for (auto& [number, loaded] : models_) loaded.model.reset();
  device_.reset();
  device_process_->end();
  device_process_.reset();
  const auto again = [&]() -> Result<> {
    GS_TRY(start_device());
    GS_TRY(connect());
    for (auto& [number, loaded] : models_) {
      GS_ASSIGN(loaded.model, device_->load(fresh_ ? whole(loaded.files) : loaded.files,
                                            options_.target, options_.threads));
      fresh_ = false;
    }
    return {};
  };
  // The next request says what is wrong.
  if (const auto done = again(); !done)
    std::fprintf(stderr, "gossamer: the device does not start again: %s\n",
                 done.error().to_string().c_str());
}

tune::Task<Result<int>> RpcMeasurer::load(package::Files files) {
  if (!device_) return fail("the device is gone");
  for (package::File& file : files)
    if (!file.xxh3.empty() && !file.bytes.empty()) weights_[file.sha256] = std::move(file.bytes);
  auto model = device_->load(fresh_ ? whole(files) : files, options_.target, options_.threads);
  if (!model) {
    replace_device();
    return std::unexpected(model.error());
  }
  fresh_ = false;
  const int number = next_++;
  models_[number] = {std::move(files), *std::move(model)};
  return number;
}

package::Files RpcMeasurer::whole(package::Files files) const {
  for (package::File& file : files)
    if (const auto known = weights_.find(file.sha256); known != weights_.end())
      file.bytes = known->second;
  return files;
}

void RpcMeasurer::free(int model) { models_.erase(model); }

Result<rpc::RunAnswer> RpcMeasurer::run(int model, const rpc::RunOptions& options) {
  const auto found = models_.find(model);
  if (found == models_.end() || !found->second.model) return fail("the device is gone");
  rpc::RunOptions run = options;
  run.seconds = options_.timeout;
  auto answer = found->second.model->run(feeds_, run);
  if (!answer) replace_device();
  return answer;
}

tune::Task<Result<tune::Timing>> RpcMeasurer::profile(int model, int runs,
                                                      const std::vector<int>& kernels) {
  rpc::RunOptions options;
  options.runs = runs;
  options.bench = "profile";
  options.kernels = kernels;
  options.min_ms = 1;
  GS_ASSIGN(const rpc::RunAnswer answer, run(model, options));
  return tune::read_profile(answer.json);
}

tune::Task<Result<double>> RpcMeasurer::time(int model, int runs) {
  GS_ASSIGN(const rpc::RunAnswer answer, run(model, {.runs = runs, .bench = "runs"}));
  return tune::read_time(answer.json);
}

tune::Task<Result<>> RpcMeasurer::check(int model) {
  GS_ASSIGN(rpc::RunAnswer answer, run(model, {}));
  if (expected_.empty()) {
    expected_ = std::move(answer.outputs);
    return {};
  }
  return compare_outputs(answer.outputs, expected_);
}

}  // namespace gossamer::command
