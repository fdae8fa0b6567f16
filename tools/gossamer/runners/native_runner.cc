// The targets of this machine as a runner: a package in a temporary folder, loaded by the C++ run
// time.
#include <algorithm>

#include "api/files.h"
#include "compiler/compile.h"
#include "gossamer/runners/runner.h"
#include "runtime/manifest.h"
#include "runtime/model.h"
#include "runtime/opengl/device.h"

namespace gossamer::command {
namespace {

class NativeRunner : public Runner {
 public:
  explicit NativeRunner(std::unique_ptr<runtime::Model> model) : model_(std::move(model)) {
    for (const auto& port : model_->inputs())
      inputs_.push_back({port.name, port.dtype, port.shape});
    for (const auto& port : model_->outputs())
      outputs_.push_back({port.name, port.dtype, port.shape});
    for (const bool output : {false, true}) {
      for (const auto& group : output ? model_->output_groups() : model_->input_groups())
        groups_.push_back({group.name, group.sequence, output, static_cast<int>(group.first),
                           static_cast<int>(group.count)});
    }
  }
  const std::vector<Port>& inputs() const override { return inputs_; }
  const std::vector<Port>& outputs() const override { return outputs_; }
  const std::vector<stages::PortGroup>& groups() const override { return groups_; }
  const runtime::HostTensor* default_of(const std::string& input) const override {
    return model_->default_of(input);
  }
  int elsewhere() const override {
    const runtime::Report report = model_->report();
    return static_cast<int>(std::ranges::count_if(
        report.launches, [](const auto& launch) { return !launch.reason.empty(); }));
  }
  Result<std::vector<ops::TensorData>> run(const std::vector<ops::TensorData>& feeds) override {
    std::vector<runtime::TensorView> tensors;
    for (const ops::TensorData& feed : feeds)
      tensors.push_back({feed.dtype, feed.shape, feed.bytes, feed.strings});
    std::vector<runtime::HostTensor> results;
    GS_TRY(model_->run(tensors, results));
    std::vector<ops::TensorData> outputs;
    for (auto& result : results)
      outputs.push_back({result.dtype,
                         std::move(result.shape),
                         {result.bytes.begin(), result.bytes.end()},
                         std::move(result.strings)});
    return outputs;
  }

 private:
  std::unique_ptr<runtime::Model> model_;
  std::vector<Port> inputs_, outputs_;
  std::vector<stages::PortGroup> groups_;
};

}  // namespace

bool runs_here(const std::string& target) {
  const auto kind = target_named(target);
  return kind && !target_of(*kind).pages;
}

bool runs_here_on(const std::string& target, std::string_view device) {
  if (runs_here(target)) return device.empty() || device == native_device;
  return device == native_device && target_named(target);
}

std::string limits_here(const std::string& target) {
  return target == "opengl" ? runtime::opengl_limits() : "";
}

Result<std::unique_ptr<Runner>> load_native_runner(const std::filesystem::path& folder,
                                                   const RunnerOptions& options) {
  runtime::LoadOptions load;
  load.threads = options.threads;
  GS_ASSIGN(auto model, runtime::Model::load(folder.string(), std::move(load)));
  return std::make_unique<NativeRunner>(std::move(model));
}

Result<package::Files> compile_native(const std::string& target, const ModelFile& model,
                                      const RunnerOptions& options, compiler::CodeForm code) {
  compiler::Options compile;
  compile.target = target;
  compile.code = code;
  compile.cpu = options.cpu;
  compile.native_side = true;
  compile.f16 = options.f16;
  compile.limits = options.limits.empty() ? limits_here(target) : options.limits;
  compile.adapters = options.adapters;
  compile.records = options.records;
  compile.known = options.known;
  compile.known.add(model.known);
  compile.external = model.external.get();
  auto files = compiler::compile(model.bytes, compile);
  if (!files) {
    Diagnostic error = files.error();
    if (error.where.empty()) error.where = model.path.string();
    return std::unexpected(std::move(error));
  }
  return files;
}

Result<std::unique_ptr<Runner>> load_native_runner(const package::Files& files,
                                                   const RunnerOptions& options) {
  GS_ASSIGN(const TemporaryFolder temporary, TemporaryFolder::create());
  GS_TRY(write_package(temporary.path() / "package", files));
  // The files stay mapped when the folder is removed.
  return load_native_runner(temporary.path() / "package", options);
}

Result<std::unique_ptr<Runner>> make_native_runner(const std::string& target,
                                                   const ModelFile& model,
                                                   const RunnerOptions& options) {
  GS_ASSIGN(const package::Files files, compile_native(target, model, options));
  return load_native_runner(files, options);
}

}  // namespace gossamer::command
