// A loaded model that turns inputs into outputs, wherever it runs.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/compile.h"
#include "gossamer/files/model_file.h"
#include "graph/graph.h"
#include "onnx/known.h"
#include "ops/opdef.h"
#include "records/choice.h"
#include "runtime/tensor.h"

namespace gossamer::command {

struct Port {
  std::string name;
  ir::DType dtype;
  std::vector<int64_t> shape;  // -1: known when the model runs
};

struct RunnerOptions {
  int threads = 0;  // 0: one a core
  std::string cpu = "native";
  const records::PointSource* records = nullptr;  // cpu: compiler::Options::records
  onnx::Known known;                              // cpu: what is known of inputs when compiling
  bool f16 = false;                               // these three as in compiler::Options
  std::string limits, adapters = "any";
};

class Runner {
 public:
  virtual ~Runner() = default;
  virtual const std::vector<Port>& inputs() const = 0;
  virtual const std::vector<Port>& outputs() const = 0;
  // The inputs and outputs that belong together.
  virtual const std::vector<stages::PortGroup>& groups() const = 0;
  // What the package has for an input that is not given; null: nothing.
  virtual const runtime::HostTensor* default_of(const std::string& /*input*/) const {
    return nullptr;
  }
  // Launches of a model for a GPU that the CPU beside it computes.
  virtual int elsewhere() const { return 0; }
  // One tensor an input, in order. Errors: wrong type or shape, a check of the model that fails.
  virtual Result<std::vector<ops::TensorData>> run(const std::vector<ops::TensorData>& feeds) = 0;
};

// A target whose packages this program runs itself, without a browser.
bool runs_here(const std::string& target);
// --device for that also where browsers have the target: webgpu through a library of webgpu.h,
// webgl through OpenGL, wasm through wasmtime.
constexpr std::string_view native_device = "native";
bool runs_here_on(const std::string& target, std::string_view device);
// What is compiled to run here keeps the limits of this machine's driver (compiler::Options).
std::string limits_here(const std::string& target);

// Lowers a model for the reference interpreter ("interp"), compiles it for a target of this
// machine, or to a file of C ("c").
Result<std::unique_ptr<Runner>> make_runner(const std::string& target, const ModelFile& model,
                                            const RunnerOptions& options);

Result<std::unique_ptr<Runner>> make_interp_runner(const ModelFile& model);
Result<std::unique_ptr<Runner>> make_native_runner(const std::string& target,
                                                   const ModelFile& model,
                                                   const RunnerOptions& options);
// A file of C (`--emit c`), compiled by this machine's C compiler. Errors: strings, no compiler.
Result<std::unique_ptr<Runner>> make_c_runner(const ModelFile& model, const RunnerOptions& options);
// A folder that `gossamer compile` wrote for such a target.
Result<std::unique_ptr<Runner>> load_native_runner(const std::filesystem::path& folder,
                                                   const RunnerOptions& options);
// The two halves of make_native_runner.
Result<package::Files> compile_native(const std::string& target, const ModelFile& model,
                                      const RunnerOptions& options,
                                      compiler::CodeForm code = compiler::CodeForm::finished);
Result<std::unique_ptr<Runner>> load_native_runner(const package::Files& files,
                                                   const RunnerOptions& options);

// An error where a feed's type or shape does not fit its port; names the input.
Result<> check_feeds(const std::vector<Port>& ports, const std::vector<ops::TensorData>& feeds);

}  // namespace gossamer::command
