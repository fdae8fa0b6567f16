// The whole compiler: ONNX bytes in, the files of a package out. The same code natively and in
// compiler.wasm.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "ops/opdef.h"
#include "package/package.h"
#include "schedule/capabilities.h"

namespace gossamer::compiler {

struct Options {
  std::string target = "wasm";  // "webgpu", "webgl", "wasm", "cpu"
  std::string name;             // of the model; "" takes the graph's
  bool relaxed_simd =
      false;              // wasm: multiply-add instructions (manifest needs "wasm-relaxed-simd")
  std::string limits;     // webgpu, webgl: schedule::apply_limits, "mobile"
  bool real_gpu = false;  // webgpu: schedules for a hardware adapter instead of a software one
  std::string cpu = "native";  // cpu: LLVM's name of the processor
  // Reads a file of external data, relative to the model's folder; absent: such a model is an
  // error.
  std::function<Result<std::vector<std::byte>>(const std::string& path)> read_file;
  // Gives inputs their values: they become constants and leave the package's signature.
  std::map<std::string, ops::TensorData, std::less<>> constants;
  // Fixes shapes of inputs by name: kernels for these alone, faster and for more models.
  // -1 leaves a dimension open.
  std::map<std::string, std::vector<int64_t>, std::less<>> shapes;
  std::map<std::string, int64_t, std::less<>> dims;  // the same for dimensions by their names
  // How many elements an input that is a sequence has; -1: an optional input holds nothing.
  // Elements are inputs "NAME.0", "NAME.1", ..., also in `shapes` and `constants`.
  std::map<std::string, int64_t, std::less<>> lengths;
  std::function<void(std::string_view step, double fraction)> progress;
  const ops::Catalog* catalog = nullptr;  // null: the built-in one
};

// What compiling a stage gave, for `inspect` and dumps.
struct KernelReport {
  std::string name, origin, schedule, ir, code;
};
struct Report {
  std::string stages;  // printed after fusion and layout
  std::vector<KernelReport> kernels;
  int64_t memory_bytes = 0;  // slots, where static
  int64_t weight_bytes = 0;
};

Result<package::Files> compile(std::span<const std::byte> model, const Options& options,
                               Report* report = nullptr);

}  // namespace gossamer::compiler
