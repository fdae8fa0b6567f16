// The package: what the compiler writes and every run time reads. docs/specs/package.md specifies
// the files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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

// The structs of manifest.def: Port, Slot, Tensor, KernelInfo, Launch and so on, and Module, which
// holds them. An index that is -1 stands for an absent field. Members that need a word more:
// - Port::symbols has, for inputs, the name of a dimension where shape has none, else "".
// - Slot::texture has width 0 where the slot is linear memory.
// - KernelInfo::source is the shader's text, which write_kernel_sources() numbers as `code`.
// - Module::plan_values is 0 where everything is static.
#define GS_TYPE_text std::string
#define GS_TYPE_plain std::string
#define GS_TYPE_flag bool
#define GS_TYPE_dtype ir::DType
#define GS_TYPE_target TargetKind
#define GS_TYPE_count(least, most) int
#define GS_TYPE_size int64_t
#define GS_TYPE_index(list) int
#define GS_TYPE_number Number
#define GS_TYPE_range Number
#define GS_TYPE_scalar Number
#define GS_TYPE_span(list) std::optional<std::pair<int, int>>
#define GS_TYPE_list(type) std::vector<GS_TYPE_##type>
#define GS_TYPE_record(Name) std::optional<Name>
#define GS_TYPE_records(Name) std::vector<Name>
#define GS_TYPE_flat(Name) Name
#define GS_TYPE_fed(Name) std::vector<Name>
#define GS_TYPE_known(Name) std::vector<Name>
#define GS_TYPE_steps std::vector<Step>
#define GS_INITIAL_always = {}
#define GS_INITIAL_lenient(value) = value
#define GS_INITIAL_unless(value) = value
#define GS_INITIAL_some = {}
#define GS_INITIAL_when(condition) = {}

#define F(type, name, presence, doc) GS_TYPE_##type name GS_INITIAL_##presence;
#define R(type, key, name, presence, doc) F(type, name, presence, doc)
#define P(type, key, a, b, presence, doc) \
  std::vector<Number> a;                  \
  std::vector<std::string> b;
#define X(type, key, presence, doc)
#define M(Type, name, initial) Type name = initial;
#define GS_RECORD(Name, ROWS)                          \
  struct Name {                                        \
    ROWS bool operator==(const Name&) const = default; \
  };
#define GS_STEP(kind, key, ROWS)
#define GS_MANIFEST(ROWS) \
  struct Module {         \
    ROWS                  \
  };
#include "package/manifest.def"
#undef F
#undef R
#undef P
#undef X
#undef M

// A type in weights.safetensors, in the format's words (https://github.com/huggingface/safetensors,
// "Format"): "F32". "" where the format has none.
std::string_view safetensors_name(ir::DType dtype);

constexpr uint64_t piece_bytes = 4 << 20;

// A range of a file of external data, by its path from the model's folder.
struct FileRange {
  std::string file;  // empty: no range
  uint64_t offset = 0, length = 0;
};

// A part of a file: a range of external data, bytes of the caller's, or neither: the next `length`
// of File::bytes.
struct FilePart {
  uint64_t length = 0;
  FileRange range = {};
  std::span<const std::byte> view = {};
};

struct File {
  std::string name;
  std::vector<std::byte> bytes;
  std::string sha256 = {};  // empty: not computed yet
  bool above = false;       // stored in the folder above the package, where others share it
  // Size and hash of weights, computed when they are written, since the bytes may not be kept.
  uint64_t size = 0;
  std::string xxh3 = {};
  std::vector<std::string> pieces = {};  // SHA-256 of each piece_bytes; none: a smaller file
  // The file's parts in order, for weights that stay the caller's: ranges that only the caller
  // can read (compiler::Options::held; name and hashes are "@N" then, for the caller to replace),
  // or views (compiler::Options::view_weights). None: the file is `bytes`.
  std::vector<FilePart> parts = {};

  uint64_t length() const { return size ? size : bytes.size(); }
  // Calls `on_bytes` with the file's bytes, in order. Not for ranges of external data.
  void each(const std::function<void(std::span<const std::byte>)>& on_bytes) const;
};

// A file without a copy of these bytes, which outlive it.
File file_of_view(std::string name, std::span<const std::byte> bytes);

using Files = std::vector<File>;

// manifest.json of a module; `files` (the others of the package) are listed with sizes and hashes.
// After write_kernel_sources().
File write_manifest(const Module& module, const Files& files);

}  // namespace gossamer::package
