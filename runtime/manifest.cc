#include "runtime/manifest.h"

#include <algorithm>
#include <set>

#include "runtime/fields.h"

namespace gossamer::runtime {
namespace {

using package::Number;
using Item = rapidjson::SizeType;

// What an index names; nothing in particular where it is wrong, which has been said by then.
template <class T>
const T& entry_of(const std::vector<T>& entries, int64_t at) {
  static const T none{};
  return at >= 0 && static_cast<size_t>(at) < entries.size() ? entries[static_cast<size_t>(at)]
                                                             : none;
}

int64_t size_of(const auto& entries) { return static_cast<int64_t>(entries.size()); }

// Floats are stored as f32 where not as they are, integers and codes in 32 bits; GPUs have little
// else but types of one and two bytes, of which a word holds four and two.
bool storable(ir::DType dtype, ir::DType storage, bool gpu) {
  using enum ir::DType;
  const bool wide = dtype == f32 || dtype == f16 || dtype == bf16 || dtype == f64;
  const bool word = storage == i32 || storage == u32;
  return (storage == dtype || (wide ? storage == f32 : word)) &&
         (!gpu || word || storage == f32 || ir::byte_size(storage) <= 2);
}

// How many bytes of a tensor a slot of known size has room for. Like the products below exact up to
// 2^53, and only larger beyond.
double room_of(const package::Slot& slot) {
  const package::Texture& texture = slot.texture;
  constexpr int texel_bytes = 16;
  return texture.width == 0 ? static_cast<double>(slot.bytes.value)
                            : texture.width * static_cast<double>(texture.height.value) *
                                  texture.layers * texel_bytes;
}

// Lower-case hexadecimal digits.
bool is_hash(std::string_view text, size_t digits) {
  return text.size() == digits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// The counterpart of web/runtime/src/manifest.ts: the same checks in the same order.
class Reader {
 public:
  Result<Manifest> read(const Json& json);

 private:
  bool on_gpu(int device) const { return device == 0 && is_gpu(module_.target); }
  int device(const Fields& fields) const {
    return static_cast<int>(fields.count("device", module_.side ? 2 : 1, 0));
  }
  int segment(const Fields& fields) const {
    return static_cast<int>(fields.count("segment", module_.plan_segments, 0));
  }
  Number number(const Fields& fields, Fields::Key key) const {
    return fields.number(key, module_.plan_values);
  }
  const package::Slot& slot_of(int tensor) const {
    return entry_of(module_.slots, entry_of(module_.tensors, tensor).slot);
  }
  int device_of(int launch) const {
    return entry_of(module_.kernels, entry_of(module_.run, launch).kernel).device;
  }
  // The integers of a list, each below the limit.
  std::vector<int> counts(const Fields& fields, Fields::Key key, int64_t below,
                          std::optional<Item> length = {}) const {
    std::vector<int> all;
    fields.list(
        key,
        [&](const Fields& items, Item at) {
          all.push_back(static_cast<int>(items.count(at, below)));
        },
        length);
    if (length) all.resize(*length);
    return all;
  }

  void plan(const Fields& fields);
  void side(const Fields& fields, const std::vector<FileEntry>& files);
  std::vector<FileEntry> files(const Fields& root);
  package::Slot slot(const Fields& fields);
  package::Tensor tensor(const Fields& fields);
  package::KernelInfo kernel(const Fields& fields);
  void check_tensor(const Fields& fields, ir::DType dtype, int tensor, double elements);
  std::vector<package::Port> ports(const Fields& root, bool input);
  package::Group group(const Fields& fields);
  void dims(const Fields& root);
  package::Weight weight(const Fields& fields);
  package::Call call(const Fields& fields, int64_t plan_values, const std::vector<int>& tensors);
  package::Launch launch(const Fields& fields, int64_t plan_values);
  package::Launch init(const Fields& fields);
  Number step_number(const Fields& fields, Fields::Key key) const;
  std::vector<package::Step> inner(const Fields& fields, const char* key, int depth);
  std::vector<package::Step> steps(const Fields& fields, const char* key, int depth);
  package::Step step(const Fields& fields, int depth);

  package::Module module_;
  int64_t files_ = 0;
  std::vector<int64_t> sources_;
  std::set<int> grown_;  // tensors of states
  std::string problem_;
};

void Reader::plan(const Fields& fields) {
  module_.plan_values = static_cast<int>(fields.count("values", (1 << 20) + 1, {}, 1));
  module_.plan_segments = static_cast<int>(fields.count("segments", 1 << 16, 1, 1));
}

void Reader::side(const Fields& fields, const std::vector<FileEntry>& files) {
  if (std::ranges::find(files, module_.side->code, &FileEntry::name) == files.end())
    fields.wrong("code", "one of the files");
}

std::vector<FileEntry> Reader::files(const Fields& root) {
  std::vector<FileEntry> all;
  std::set<std::string> seen;
  root.objects("files", [&](const Fields& fields) {
    FileEntry file{fields.plain_name("name"), static_cast<uint64_t>(fields.count("bytes")),
                   fields.text("xxh3"), fields.text("sha256", "")};
    uint64_t pieces = 0, hashes = 0;
    fields.list("pieces", [&](const Fields& list, rapidjson::SizeType at) {
      ++pieces;
      hashes += is_hash(list.text(at), 64);
    });
    file.above = fields.flag("above");
    if (!is_hash(file.xxh3, 16)) fields.wrong("xxh3", "16 hexadecimal digits");
    if (fields.has("sha256") && !is_hash(file.sha256, 64))
      fields.wrong("sha256", "64 hexadecimal digits");
    // Here the whole file's is checked.
    const uint64_t wanted = (file.bytes + package::piece_bytes - 1) / package::piece_bytes;
    if (fields.has("pieces") && (pieces != wanted || hashes != wanted))
      fields.wrong("pieces",
                   cat("64 hexadecimal digits for each ", package::piece_bytes, " bytes"));
    if (!seen.insert(file.name).second) fields.wrong("name", "unique");
    all.push_back(std::move(file));
  });
  return all;
}

package::Slot Reader::slot(const Fields& fields) {
  package::Slot slot;
  slot.persistent = fields.flag("persistent");
  slot.segment = segment(fields);
  slot.device = device(fields);
  if (target_of(module_.target).memory == TargetMemory::textures && slot.device == 0) {
    slot.texture.width = static_cast<int>(fields.count("width", (1 << 16) + 1, {}, 1));
    slot.texture.height = number(fields, "height");
    slot.texture.layers = static_cast<int>(fields.count("layers", 9, {}, 1));
  } else {
    slot.bytes = number(fields, "bytes");
  }
  return slot;
}

package::Tensor Reader::tensor(const Fields& fields) {
  package::Tensor tensor{fields.text("name", ""), fields.dtype("dtype"), fields.dtype("storage"),
                         number(fields, "elements"),
                         static_cast<int>(fields.count("slot", size_of(module_.slots)))};
  const package::Slot& slot = entry_of(module_.slots, tensor.slot);
  if (!storable(tensor.dtype, tensor.storage, on_gpu(slot.device)))
    fields.wrong("storage", cat("a storage type of ", ir::name_of(tensor.dtype), " there"));
  const double size = ir::byte_size(tensor.storage);
  if (!tensor.elements.planned && is_static(slot))
    if (static_cast<double>(tensor.elements.value) * size > room_of(slot))
      fields.wrong("elements", "within its slot");
  return tensor;
}

package::KernelInfo Reader::kernel(const Fields& fields) {
  package::KernelInfo kernel;
  kernel.device = device(fields);
  kernel.name = fields.text("name");
  kernel.entry = fields.text("entry");
  sources_.push_back(on_gpu(kernel.device) ? fields.count("code") : -1);
  kernel.group_size = static_cast<int>(fields.count("group", (1 << 16) + 1, 1, 1));
  kernel.buffers = static_cast<int>(fields.count("buffers", 1025, {}, 1));
  kernel.scalars = static_cast<int>(fields.count("scalars", 1025));
  kernel.schedule = fields.text("schedule", "");
  kernel.writes = static_cast<int>(fields.count("writes", kernel.buffers + 1, 1, 1));
  return kernel;
}

// Of a port or weight: what is known fits its tensor, and the types are one. Fewer than 0 elements
// are not known.
void Reader::check_tensor(const Fields& fields, ir::DType dtype, int tensor, double elements) {
  const package::Tensor& entry = entry_of(module_.tensors, tensor);
  if (entry.dtype != dtype)
    fields.wrong("dtype", cat("that of its tensor, ", ir::name_of(entry.dtype)));
  if (!entry.elements.planned && elements > static_cast<double>(entry.elements.value))
    fields.wrong("shape", "within its tensor");
}

std::vector<package::Port> Reader::ports(const Fields& root, bool input) {
  std::vector<package::Port> ports;
  std::vector<Fields> all;
  std::set<std::string> seen;
  root.objects(input ? "inputs" : "outputs", [&](const Fields& fields) {
    package::Port port;
    port.name = fields.text("name");
    port.dtype = fields.dtype("dtype");
    double elements = 1;
    fields.list("shape", [&](const Fields& list, Item at) {
      const Json* extent = list.find(at);
      const bool symbol = input && extent->IsString();
      port.symbols.push_back(symbol ? list.text(at) : "");
      port.shape.push_back(symbol ? Number(-1) : input ? Number(list.count(at)) : number(list, at));
      const Number number = port.shape.back();
      const bool known = !symbol && !number.planned && elements >= 0;
      elements = known ? elements * static_cast<double>(number.value) : -1;
    });
    port.tensor = static_cast<int>(fields.count("tensor", size_of(module_.tensors)));
    port.strings = fields.flag("strings");
    check_tensor(fields, port.dtype, port.tensor, elements);
    if (input && slot_of(port.tensor).segment > 0)
      fields.wrong("tensor", "in memory of the first segment");
    if (!seen.insert(port.name).second) fields.wrong("name", "unique");
    ports.push_back(std::move(port));
    all.push_back(fields);
  });
  // The bytes of strings have an axis more than their lengths, which follow.
  for (size_t at = 0; at < ports.size(); ++at) {
    const package::Port& port = ports[at];
    const package::Port& next = entry_of(ports, static_cast<int64_t>(at) + 1);
    if (!port.strings) continue;
    if (next.strings || port.dtype != ir::DType::u8 || next.dtype != ir::DType::i32 ||
        port.shape.size() != next.shape.size() + 1)
      all[at].wrong("strings", "before its lengths");
  }
  return ports;
}

package::Group Reader::group(const Fields& fields) {
  package::Group group;
  const std::string kind = fields.text("kind");
  if (kind != "sequence" && kind != "optional") fields.wrong("kind", "sequence or optional");
  group.sequence = kind == "sequence";
  group.output = fields.has("outputs");
  const char* const key = group.output ? "outputs" : "inputs";
  // Strings are two entries, and one value.
  const std::vector<package::Port>& entries = group.output ? module_.outputs : module_.inputs;
  const int64_t most = size_of(entries) - std::ranges::count_if(entries, &package::Port::strings);
  const std::vector<int> part = counts(fields, key, most + 1, 2);
  if (part[0] + part[1] > most) fields.wrong(key, cat("part of ", key));
  if (!group.sequence && part[1] > 0) fields.wrong("kind", "that of something");
  group.first = part[0];
  group.count = part[1];
  group.name = fields.text("name");
  return group;
}

void Reader::dims(const Fields& root) {
  std::set<std::string> named;
  root.objects("dims", [&](const Fields& fields) {
    package::Dim dim{fields.text("name"), -1, 0};
    if (fields.has("input")) {
      dim.input = static_cast<int>(fields.count("input", size_of(module_.inputs)));
      const std::vector<std::string>& symbols = entry_of(module_.inputs, dim.input).symbols;
      dim.axis = static_cast<int>(fields.count("axis", size_of(symbols)));
      const package::Port& port = entry_of(module_.inputs, dim.input);
      const bool symbolic = entry_of(port.shape, dim.axis).value < 0;
      if (fields.has("rows")) {
        dim.rows = number(fields, "rows");
        dim.output = static_cast<int>(fields.count("output", size_of(module_.outputs)));
        const package::Port& next = entry_of(module_.outputs, dim.output);
        if (next.tensor != port.tensor || next.shape.size() != port.shape.size() ||
            !grown_.insert(port.tensor).second)
          fields.wrong("input", "what its output alone continues");
      } else if (!symbolic || entry_of(symbols, dim.axis) != dim.name ||
                 !named.insert(dim.name).second)
        fields.wrong("name", "that of its axis, once");
    }
    module_.dims.push_back(std::move(dim));
  });
  for (const package::Port& port : module_.inputs)
    for (size_t axis = 0; axis < port.shape.size(); ++axis)
      if (port.shape[axis].value < 0 && !named.contains(port.symbols[axis]))
        root.wrong("dims", "complete");
}

package::Weight Reader::weight(const Fields& fields) {
  package::Weight weight;
  weight.name = fields.text("name");
  weight.dtype = fields.dtype("dtype");
  double elements = 1;
  fields.list("shape", [&](const Fields& list, Item at) {
    weight.shape.push_back(list.count(at));
    elements *= static_cast<double>(weight.shape.back());
  });
  weight.tensor = static_cast<int>(fields.count("tensor", size_of(module_.tensors)));
  check_tensor(fields, weight.dtype, weight.tensor, elements);
  if (!is_static(slot_of(weight.tensor))) fields.wrong("tensor", "in memory of known size");
  if (fields.has("file")) weight.file = static_cast<int>(fields.count("file", files_));
  return weight;
}

package::Call Reader::call(const Fields& fields, int64_t plan_values,
                           const std::vector<int>& tensors) {
  // Scalars and ranges have 32 bits but on the CPU.
  const int64_t most = module_.target == TargetKind::cpu ? any_count : int64_t{1} << 31;
  package::Call call;
  call.kernel = static_cast<int>(fields.count("kernel", size_of(module_.kernels)));
  fields.list("scalars", [&](const Fields& list, Item at) {
    call.scalars.push_back(list.number(at, plan_values, most, -most));
  });
  call.range = fields.number("range", plan_values, most);
  const package::KernelInfo& kernel = entry_of(module_.kernels, call.kernel);
  if (size_of(tensors) != kernel.buffers) fields.wrong("kernel", "one with a buffer a tensor");
  if (size_of(call.scalars) != kernel.scalars)
    fields.wrong("scalars", "one number a scalar of the kernel");
  if (std::ranges::any_of(tensors,
                          [&](int tensor) { return slot_of(tensor).device != kernel.device; }))
    fields.wrong("kernel", "on the device of its tensors");
  for (int at = kernel.buffers - kernel.writes; at < size_of(tensors); ++at) {
    for (int before = 0; before < at; ++before) {
      if (entry_of(module_.tensors, tensors[static_cast<size_t>(before)]).slot ==
          entry_of(module_.tensors, tensors[static_cast<size_t>(at)]).slot)
        fields.wrong("tensors", "apart from what the kernel writes");
    }
  }
  return call;
}

package::Launch Reader::launch(const Fields& fields, int64_t plan_values) {
  package::Launch launch;
  launch.tensors = counts(fields, "tensors", size_of(module_.tensors));
  package::Call own = call(fields, plan_values, launch.tensors);
  launch.kernel = own.kernel;
  launch.scalars = std::move(own.scalars);
  launch.range = own.range;
  if (fields.has("hardware"))
    launch.hardware = call(fields.fields("hardware"), plan_values, launch.tensors);
  if (fields.has("operations")) launch.operations = fields.number("operations", plan_values);
  launch.origin = fields.text("origin", "");
  if (fields.has("reason")) launch.reason = fields.text("reason");
  return launch;
}

package::Launch Reader::init(const Fields& fields) {
  package::Launch launch = this->launch(fields, 0);
  if (!std::ranges::all_of(launch.tensors, [&](int tensor) { return is_static(slot_of(tensor)); }))
    fields.wrong("tensors", "in memory of known size");
  return launch;
}

Number Reader::step_number(const Fields& fields, Fields::Key key) const {
  return fields.number(key, module_.plan_values, any_count, -any_count);
}

std::vector<package::Step> Reader::inner(const Fields& fields, const char* key, int depth) {
  if (!fields.has(key)) fields.wrong(key, "a list of steps");
  return steps(fields, key, depth + 1);
}

std::vector<package::Step> Reader::steps(const Fields& fields, const char* key, int depth) {
  std::vector<package::Step> all;
  if (depth > deepest_step) fields.wrong(key, cat("at most ", deepest_step, " steps deep"));
  if (depth > deepest_step) return all;
  fields.objects(key, [&](const Fields& one) { all.push_back(step(one, depth)); });
  return all;
}

package::Step Reader::step(const Fields& fields, int depth) {
  using Kind = package::Step::Kind;
  const int64_t variables = size_of(module_.dims);
  package::Step step;
  if (fields.has("launch")) {
    const std::vector<int> part = counts(fields, "launch", size_of(module_.run) + 1, 2);
    step.first = part[0];
    step.last = part[1];
    if (step.last < step.first) fields.wrong("launch", "a part of run");
    for (int at = step.first; at < step.last && at < size_of(module_.run); ++at)
      if (device_of(at) != device_of(step.first))
        fields.wrong("launch", "a part of run on one device");
  } else if (fields.has("copy")) {
    step.kind = Kind::copy;
    const std::vector<int> pair = counts(fields, "copy", size_of(module_.tensors), 2);
    step.tensor = pair[0];
    step.to = pair[1];
    if (entry_of(module_.tensors, step.tensor).dtype != entry_of(module_.tensors, step.to).dtype ||
        slot_of(step.tensor).device == slot_of(step.to).device)
      fields.wrong("copy", "a pair of tensors of one type on two devices");
  } else if (fields.has("read")) {
    step.kind = Kind::read;
    step.tensor = static_cast<int>(fields.count("read", size_of(module_.tensors)));
    step.count = static_cast<int>(fields.count("count", variables + 1));
    const ir::DType dtype = entry_of(module_.tensors, step.tensor).dtype;
    if (!ir::is_int(dtype) && dtype != ir::DType::boolean)
      fields.wrong("read", "a tensor of integers");
    step.dim = static_cast<int>(fields.count("dims", variables - step.count + 1));
  } else if (fields.has("plan")) {
    step.kind = Kind::plan;
    step.segment =
        static_cast<int>(fields.count("plan", module_.plan_values > 0 ? module_.plan_segments : 0));
  } else if (fields.has("set")) {
    step.kind = Kind::set;
    fields.list("set", [&](const Fields& list, Item outer) {
      std::pair<int, Number> set;
      list.list(
          outer,
          [&](const Fields& pair, Item at) {
            if (at == 0)
              set.first = static_cast<int>(pair.count(at, variables));
            else
              set.second = step_number(pair, at);
          },
          2);
      step.sets.push_back(set);
    });
  } else if (fields.has("if")) {
    step.kind = Kind::branch;
    step.number = step_number(fields, "if");
    step.body = inner(fields, "then", depth);
    step.otherwise = inner(fields, "else", depth);
  } else if (fields.has("loop")) {
    step.kind = Kind::loop;
    step.number = step_number(fields, "loop");
    step.dim = static_cast<int>(fields.count("dim", variables));
    if (fields.has("while")) step.condition = static_cast<int>(fields.count("while", variables));
    step.body = inner(fields, "body", depth);
  } else {
    fields.wrong("*", "a step that this run time knows");
  }
  return step;
}

Result<Manifest> Reader::read(const Json& json) {
  Manifest manifest;
  const Fields root(json, "package", problem_);
  const Json* const format = root.find("format");
  if (problem_.empty() && (!format || !format->IsString() || *format != "gossamer-package"))
    return fail("this is not a package of Gossamer");
  const Json* const version = root.find("version");
  const std::optional<int64_t> known = version ? integer_of(*version) : std::nullopt;
  if (problem_.empty() &&
      (!known || *known < package::oldest_version || *known > package::format_version))
    return fail(cat("the package has format version ", known ? cat(*known) : "that is no number",
                    ", this run time reads versions ", package::oldest_version, " to ",
                    package::format_version),
                "compile the model again");
  const std::string named = root.text("target");
  const auto target = target_named(named);
  if (problem_.empty() && !target)
    return fail(cat("the package is compiled for ", named, ", which no run time knows"));
  module_.target = target.value_or(TargetKind::cpu);
  if (root.has("plan")) plan(root.fields("plan"));
  if (root.has("side")) {
    const Fields fields = root.fields("side");
    const auto side = target_named(fields.text("target"));
    if (!side || is_gpu(*side)) fields.wrong("target", "wasm");
    if (!on_gpu(0)) fields.wrong("target", "beside a GPU");
    module_.side = package::Side{side.value_or(TargetKind::wasm), fields.text("code")};
  }
  module_.name = root.text("name", "");
  root.list("needs", [&](const Fields& list, Item at) { module_.needs.push_back(list.text(at)); });
  manifest.files = files(root);
  files_ = size_of(manifest.files);
  if (root.has("side")) side(root.fields("side"), manifest.files);
  root.objects("slots", [&](const Fields& one) { module_.slots.push_back(slot(one)); });
  root.objects("tensors", [&](const Fields& one) { module_.tensors.push_back(tensor(one)); });
  root.objects("kernels", [&](const Fields& one) { module_.kernels.push_back(kernel(one)); });
  module_.inputs = ports(root, true);
  module_.outputs = ports(root, false);
  root.objects("groups", [&](const Fields& one) { module_.groups.push_back(group(one)); });
  dims(root);
  root.objects("checks", [&](const Fields& one) {
    module_.checks.push_back({number(one, "value"), one.text("message"), segment(one)});
    if (one.has("most")) module_.checks.back().most = one.count("most");
  });
  root.objects("weights", [&](const Fields& one) { module_.weights.push_back(weight(one)); });
  root.objects("init", [&](const Fields& one) { module_.init.push_back(init(one)); });
  root.objects("run",
               [&](const Fields& one) { module_.run.push_back(launch(one, module_.plan_values)); });
  module_.steps = steps(root, "steps", 0);
  const auto beside = [&](const package::Launch& launch) {
    return entry_of(module_.kernels, launch.kernel).device == 1;
  };
  if (!module_.steps.empty() && !grown_.empty()) root.wrong("steps", "absent where states grow");
  if (module_.steps.empty() && std::ranges::any_of(module_.run, beside))
    root.wrong("steps", "there to copy to the side");
  if (module_.steps.empty() && module_.plan_segments > 1)
    root.fields("plan").wrong("segments", "a number of segments that steps run");
  if (!problem_.empty()) return fail(problem_, "the package is damaged: compile the model again");
  manifest.module = std::move(module_);
  manifest.sources = std::move(sources_);
  return manifest;
}

}  // namespace

bool is_static(const package::Slot& slot) {
  return slot.texture.width > 0 ? !slot.texture.height.planned : !slot.bytes.planned;
}

Result<Manifest> parse_manifest(std::string_view text) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseFullPrecisionFlag>(text.data(),
                                                                                      text.size());
  if (document.HasParseError())
    return fail(cat("this is not JSON, from byte ", document.GetErrorOffset()),
                "the package is damaged: compile the model again");
  return Reader().read(document);
}

}  // namespace gossamer::runtime
