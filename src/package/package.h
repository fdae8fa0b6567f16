// The package: what the compiler writes and every run time reads. docs/specs/package.md specifies
// the files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/target.h"
#include "ir/nodes.h"

namespace gossamer::package {

// What is read. Packages with states that grow are of version 4, those whose weights lie in several
// files, or above the package, of version 3; others of version 2, which is all that they need.
constexpr int format_version = 4, oldest_version = 2;

// A number known now, or the index of a value that the plan function computes from the dimensions.
struct Number {
  int64_t value = 0;  // the number, or the plan value's index
  bool planned = false;
  Number(int64_t known = 0) : value(known) {}
  static Number plan(int64_t index_in_plan) {
    Number number(index_in_plan);
    number.planned = true;
    return number;
  }
  bool operator==(const Number&) const = default;
};

struct Port {  // an input or output of the model
  std::string name;
  ir::DType dtype;
  std::vector<Number> shape;         // outputs: plan values where symbolic
  std::vector<std::string> symbols;  // inputs: the dimension's name where symbolic, else ""
  int tensor = -1;
  bool strings = false;  // the bytes of a tensor of strings; the next port has the lengths
};

// What users know as one value: a sequence is the inputs (outputs) [first, first + count), an
// optional that holds nothing is none of them.
struct Group {
  std::string name;
  bool sequence = true, output = false;
  int first = 0, count = 0;
};

// A variable of the host program: a dimension of an input, or (input -1) one that steps set.
struct Dim {
  std::string name;
  int input = 0, axis = 0;
  // Not -1: input and output are one tensor, a state, and this is its memory's extent along the
  // axis. The run time chooses it, at least `rows`, a value of the plan that does not depend on it.
  int output = -1;
  Number rows = {};
};

struct Check {  // an error unless the value is nonzero after the plan's segment
  Number value;
  std::string message;
  int segment = 0;
  int64_t most = -1;  // not -1: the value counts something, and this is the most there may be
};

struct Texture {
  int width = 0;  // texels; a power of two
  Number height;
  int layers = 1;
  bool operator==(const Texture&) const = default;
};

struct Slot {               // a piece of device memory that tensors share over time
  Number bytes;             // linear memory
  Texture texture;          // width 0: linear
  bool persistent = false;  // weights and results of init: filled once at load
  int segment = 0;          // of the plan, after which the size is known
  int device = 0;           // 1: the side's memory
};

struct Tensor {
  std::string name;
  ir::DType dtype;    // value type
  ir::DType storage;  // element type in memory
  Number elements;    // physical, padding included
  int slot = -1;
};

struct Weight {
  std::string name;  // key in its file
  ir::DType dtype;   // as stored in the file
  std::vector<int64_t> shape;
  int tensor = -1;  // uploaded as it lies (row-major; flat in a texture), converted to the tensor's
                    // storage type
  int file = -1;    // its place among the package's other files; -1: weights.safetensors
};

// A type in weights.safetensors, in the format's words (https://github.com/huggingface/safetensors,
// "Format"): "F32". "" where the format has none.
std::string_view safetensors_name(ir::DType dtype);

struct KernelInfo {
  std::string name;      // for people: "conv_3x3.relu"
  std::string entry;     // exported function (wasm, cpu), "main" in shaders
  std::string code;      // shader source; empty for wasm and cpu
  std::string schedule;  // the schedule as text
  int group_size = 1;    // invocations of a workgroup (webgpu)
  int buffers = 0, scalars = 0;
  int writes = 1;  // the last so many buffers are written; all others are only read
  int device = 0;  // 1: the side runs it, and `code` is empty
};

struct Call {
  int kernel = 0;
  std::vector<Number> scalars;
  Number range;  // extent of the grid loop
};
struct Launch {
  int kernel = 0;
  std::vector<int> tensors;  // one a buffer of the kernel
  std::vector<Number> scalars;
  Number range;
  std::string origin;       // graph nodes it computes, for report()
  std::string reason = {};  // why the side runs it
  // What computes the same on GPUs in hardware, where that differs from software adapters.
  std::optional<Call> hardware = {};
  Number operations = {};  // of its arithmetic, for profiles; 0: none, or not known
};

// A step of the host program, see docs/specs/host.md.
struct Step {
  enum class Kind : uint8_t { launch, read, plan, set, branch, loop, copy };
  Kind kind = Kind::launch;
  int first = 0, last = 0;  // launch: run[first..last)
  int tensor = -1;          // read: of its first `count` elements; copy: from
  int to = -1;              // copy: the tensor on the other device
  int dim = -1;             // read: the first variable; loop: the counter
  int count = 0;
  int segment = 0;                                // plan
  std::vector<std::pair<int, Number>> sets = {};  // set: variable, value
  Number number = {};                             // branch: condition; loop: rounds
  int condition = -1;                             // loop: a variable that must not be 0; -1: none
  std::vector<Step> body = {}, otherwise = {};    // branch: then, else; loop: body
};

// The CPU beside a GPU: what the target cannot compute runs there.
struct Side {
  TargetKind target;
  std::string code;  // the file with its kernels
};

struct Module {
  std::string name;
  TargetKind target = TargetKind::cpu;
  std::optional<Side> side;
  std::vector<std::string> needs;  // "wasm-simd", "webgpu-f16", ...
  std::vector<Port> inputs, outputs;
  std::vector<Group> groups;
  std::vector<Dim> dims;
  std::vector<Check> checks;
  int plan_values = 0;  // 0: everything is static
  int plan_segments = 1;
  std::vector<Tensor> tensors;
  std::vector<Slot> slots;
  std::vector<Weight> weights;
  std::vector<KernelInfo> kernels;
  std::vector<Launch> init, run;
  std::vector<Step> steps;  // empty: all of run, in order
};

constexpr uint64_t piece_bytes = 4 << 20;

// A range of a file of external data, by its path from the model's folder.
struct FileRange {
  std::string file;  // empty: no range
  uint64_t offset = 0, length = 0;
};

struct File {
  std::string name;
  std::vector<std::byte> bytes;
  std::string sha256 = {};  // of the bytes, where that has been computed
  bool above = false;       // lies in the folder above the package, where others share it
  // Of weights, computed when they are written: what they are where the bytes are not here.
  uint64_t size = 0;
  std::string xxh3 = {};
  std::vector<std::string> pieces = {};  // SHA-256 of each piece_bytes; none: a smaller file
  // Of weights that only the caller has (compiler::Options::held): what the file consists of, in
  // order. A part without a file is the next `length` of `bytes`. Name and hashes are "@N" then,
  // for the caller to replace.
  std::vector<FileRange> parts = {};
};
using Files = std::vector<File>;

// manifest.json of a module; `files` (the others of the package) are listed with sizes and hashes.
File write_manifest(const Module& module, const Files& files);

}  // namespace gossamer::package
