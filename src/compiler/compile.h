// The whole compiler: a graph in, the files of a package out. An ONNX model is one way to make a
// graph, a program of lazy tensors (src/tensor) another. The same code natively and in
// compiler.wasm.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "codegen/plan_function.h"
#include "graph/graph.h"
#include "onnx/external_files.h"
#include "onnx/known.h"
#include "ops/opdef.h"
#include "package/package.h"
#include "package/write.h"
#include "records/choice.h"
#include "target/capabilities.h"

namespace gossamer::compiler {

// What kernels come as: the target's finished code, or what src/library makes libraries of: LLVM's
// bitcode (of cpu and wasm, in kernels.bc), C (of cpu, in kernels.c).
// `none`: no files, for those whom the kernels alone tell something.
enum class CodeForm : uint8_t { finished, bitcode, c, none };

class LoweredKernelCache;
struct CompileCache;

struct Options {
  std::string target = "wasm";  // a name of targets.def
#define GS_WORDS(...)
#define GS_OPTION(Type, name, initial, choices, help) Type name = initial;
#include "gossamer/options.def"
  bool native_side = false;  // webgpu: what the GPU leaves to the CPU is machine code, for the
                             // run time in C++, not wasm for pages
  const records::PointSource* records = nullptr;  // points to take instead of the default ones
  CodeForm code = CodeForm::finished;
  bool groups = false;  // KernelReport::group, key and machine
  bool ir = false;      // KernelReport::ir, Report::stages, Report::plan
  // Kernels of earlier compilations for the same target and options but records, the caller's, not
  // of two at the same time; null: each compilation makes its own.
  LoweredKernelCache* lowered = nullptr;
  // Cached front-end result, which the caller owns and this compilation fills where it is empty. A
  // compilation that differs in schedule points alone resumes from here. Not for two at a time.
  CompileCache* cache = nullptr;
  // Report::weights of an earlier compilation of the same model for the same target: they are
  // written as files without bytes.
  const package::WeightFiles* weights = nullptr;
  // Of the model, the caller's; null: one whose weights lie in other files is an error.
  onnx::ExternalFiles* external = nullptr;
  // Weights in other files are in none of the package's: who loads it has them, by their names.
  bool hold_external = false;
  // Files of external data by their sizes in bytes, whose large weights only the caller reads:
  // files of weights list them as package::File::parts.
  std::map<std::string, uint64_t, std::less<>> held = {};
  // Files of weights have views of the model and of `external` instead of copies
  // (package::File::parts): both outlive them.
  bool view_weights = false;
  bool fuse = true;     // false: every stage is a kernel, for comparisons
  bool expose = false;  // what kernels make are outputs too (stages::expose_stages)
  onnx::Known known;    // fixed shapes, dimensions, values and lengths of the inputs
  bool share_weights =
      false;  // the large ones lie above the package, for those of other targets too
  // wasm, webgpu, webgl: large files are listed with the SHA-256 of their pieces, too, which pages
  // check faster; false: of packages that stay where they are made.
  bool pieces = true;
  std::function<void(std::string_view step, double fraction)> progress;
  // Called with each shader, and the nodes that it computes, as soon as there is its text. A device
  // can build it while the rest compiles. Not called for packages with variants of kernels.
  std::function<void(const package::KernelInfo&, std::string_view origin)> on_kernel;
  // Called with each launch of a run, for dimensions as they are estimated: its kernel, the scalars
  // of that and the range.
  std::function<void(const ir::Kernel&, std::span<const int64_t> scalars, int64_t range)> on_launch;
  const ops::Catalog* catalog = nullptr;  // null: the built-in one
};

// What compiling a stage gave, for `inspect` and dumps.
struct KernelReport {
  std::string name, origin, schedule, ir, code;
  std::string key, machine;                 // of records: records/choice.h
  bool recorded = false;                    // at a point of records,
  std::string near = {};                    // of this kernel, where it is not its own
  std::string shipped = {};                 // that came with the compiler, for such devices
  std::optional<stages::Group> group = {};  // what it computes, where asked for
  target::Capabilities capabilities = {};   // for which
};
struct Report {
  std::string stages;          // printed after fusion and layout, where asked for
  codegen::PlanFunction plan;  // what the manifest's plan computes, where the IR is asked for
  std::vector<KernelReport> kernels;
  int64_t memory_bytes = 0;  // slots that stay after loading, where static
  int64_t weight_bytes = 0;
  // Open dimensions of the inputs, and what choices that are right for any take them for.
  std::vector<std::pair<std::string, int64_t>> dims;
  size_t variables = 0;  // that steps of a run set, such as the number of boxes that it finds
  package::WeightFiles weights;  // without bytes
  // Kernels at a point of their own records, at one of a kernel near them, of both those whose
  // records came with the compiler, and kernels at none since what is recorded is not legal.
  int recorded = 0, nearest = 0, shipped = 0, refused = 0;
};

// `file` is what constants of the graph with `file` 0 are ranges of. Options::known is for the
// reader of a model and has no part here: a graph says what is known of it. Errors: an unknown
// target or option of one, a node that cannot be defined for its inputs ([Op] "node"), a tensor or
// program that the target cannot hold.
Result<package::Files> compile(const graph::Graph& graph, const Options& options,
                               Report* report = nullptr, std::span<const std::byte> file = {});
// The same of an ONNX model. Errors: also those of onnx::read_model.
Result<package::Files> compile(std::span<const std::byte> model, const Options& options,
                               Report* report = nullptr);

}  // namespace gossamer::compiler
