#include "runtime/manifest_checks.h"

#include <algorithm>
#include <set>

namespace gossamer::runtime {
namespace {

using package::Number;
using Item = rapidjson::SizeType;

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

// The counterpart of the checks in web/runtime/src/package/manifest.ts, in the same order.
class Checker {
 public:
  Checker(const Fields& root, Manifest& manifest)
      : root_(root), module_(manifest.module), files_(manifest.files) {}
  void check();

 private:
  bool on_gpu(int device) const { return device == 0 && is_gpu(module_.target); }
  static const auto& at(const auto& entries, int index) {
    return entries[static_cast<size_t>(index)];
  }
  const package::Slot& slot_of(int tensor) const {
    return at(module_.slots, at(module_.tensors, tensor).slot);
  }
  int device_of(int launch) const {
    return at(module_.kernels, at(module_.run, launch).kernel).device;
  }
  // Calls check(fields, entry) for each entry of a list.
  template <class T, class Check>
  void each(const char* key, std::vector<T>& entries, Check check) const {
    root_.list(key,
               [&](const Fields& list, Item item) { check(list.fields(item), entries[item]); });
  }

  void check_side() const;
  template <class T>
  void check_names(const char* key, std::vector<T>& entries) const;
  static void check_file(const Fields& from, const package::FileEntry& file);
  void check_tensor(const Fields& from, const package::Tensor& tensor) const;
  void check_kernel(const Fields& from, package::KernelInfo& kernel) const;
  void check_stored(const Fields& from, ir::DType dtype, int tensor, double elements) const;
  void check_port(const Fields& from, const package::Port& port) const;
  void check_ports(const char* key, std::vector<package::Port>& ports) const;
  void check_group(const Fields& from, const package::Group& group) const;
  void check_dim(const Fields& from, const package::Dim& dim);
  void check_weight(const Fields& from, const package::Weight& weight) const;
  void check_call(const Fields& from, const Fields& launch, const package::Call& call,
                  const std::vector<int>& tensors) const;
  void check_launch(const Fields& from, const package::Launch& launch) const;
  void check_steps(const Fields& from, const char* key,
                   const std::vector<package::Step>& steps) const;
  void check_step(const Fields& from, const package::Step& step) const;

  const Fields& root_;
  package::Module& module_;
  std::vector<FileEntry>& files_;
  std::set<std::string> dims_;
  std::set<int> grown_;  // tensors of states
};

void Checker::check_side() const {
  const Fields from = root_.fields("side");
  const package::Side& side = *module_.side;
  if (is_gpu(side.target)) from.wrong("target", "wasm");
  if (!on_gpu(0)) from.wrong("target", "beside a GPU");
  if (std::ranges::find(files_, side.code, &package::FileEntry::name) == files_.end())
    from.wrong("code", "one of the files");
}

template <class T>
void Checker::check_names(const char* key, std::vector<T>& entries) const {
  std::set<std::string> names;
  each(key, entries, [&](const Fields& from, const T& entry) {
    if (!names.insert(entry.name).second) from.wrong("name", "unique");
  });
}

void Checker::check_file(const Fields& from, const package::FileEntry& file) {
  const auto is_sha256 = [](const std::string& text) { return is_hash(text, 64); };
  if (!is_hash(file.xxh3, 16)) from.wrong("xxh3", "16 hexadecimal digits");
  if (from.has("sha256") && !is_sha256(file.sha256)) from.wrong("sha256", "64 hexadecimal digits");
  // Here only the hash of the whole file is compared.
  const uint64_t pieces =
      (static_cast<uint64_t>(file.bytes) + package::piece_bytes - 1) / package::piece_bytes;
  if (from.has("pieces") &&
      (file.pieces.size() != pieces || !std::ranges::all_of(file.pieces, is_sha256)))
    from.wrong("pieces", cat("64 hexadecimal digits for each ", package::piece_bytes, " bytes"));
}

void Checker::check_tensor(const Fields& from, const package::Tensor& tensor) const {
  const package::Slot& slot = at(module_.slots, tensor.slot);
  if (!storable(tensor.dtype, tensor.storage, on_gpu(slot.device)))
    from.wrong("storage", cat("a storage type of ", ir::name_of(tensor.dtype), " there"));
  const double size = ir::byte_size(tensor.storage);
  if (!tensor.elements.planned && is_static(slot) &&
      static_cast<double>(tensor.elements.value) * size > room_of(slot))
    from.wrong("elements", "within its slot");
}

void Checker::check_kernel(const Fields& from, package::KernelInfo& kernel) const {
  if (!on_gpu(kernel.device))
    kernel.code = -1;
  else if (kernel.code < 0)
    from.wrong("code", "an integer in range");
  if (kernel.writes > kernel.buffers) from.wrong("writes", cat("in [1, ", kernel.buffers + 1, ")"));
}

// A port or weight has its tensor's type, and fits where its size is known: `elements` is not
// negative.
void Checker::check_stored(const Fields& from, ir::DType dtype, int tensor, double elements) const {
  const package::Tensor& entry = at(module_.tensors, tensor);
  if (entry.dtype != dtype)
    from.wrong("dtype", cat("that of its tensor, ", ir::name_of(entry.dtype)));
  if (!entry.elements.planned && elements > static_cast<double>(entry.elements.value))
    from.wrong("shape", "within its tensor");
}

void Checker::check_port(const Fields& from, const package::Port& port) const {
  double elements = 1;
  for (const Number& extent : port.shape) {
    const bool known = !extent.planned && extent.value >= 0 && elements >= 0;
    elements = known ? elements * static_cast<double>(extent.value) : -1;
  }
  check_stored(from, port.dtype, port.tensor, elements);
}

void Checker::check_ports(const char* key, std::vector<package::Port>& ports) const {
  const bool inputs = &ports == &module_.inputs;
  each(key, ports, [&](const Fields& from, const package::Port& port) {
    check_port(from, port);
    if (inputs && slot_of(port.tensor).segment > 0)
      from.wrong("tensor", "in memory of the first segment");
  });
  // The bytes of strings have one axis more than their lengths, the next port.
  each(key, ports, [&](const Fields& from, const package::Port& port) {
    if (!port.strings) return;
    const package::Port* const next = &port == &ports.back() ? nullptr : &port + 1;
    if (!next || next->strings || port.dtype != ir::DType::u8 || next->dtype != ir::DType::i32 ||
        port.shape.size() != next->shape.size() + 1)
      from.wrong("strings", "before its lengths");
  });
}

void Checker::check_group(const Fields& from, const package::Group& group) const {
  if (group.kind != "sequence" && group.kind != "optional")
    from.wrong("kind", "sequence or optional");
  const char* const key = group.outputs ? "outputs" : "inputs";
  const auto& part = group.outputs ? group.outputs : group.inputs;
  if (!part) from.wrong(key, "2 items long");
  // Strings are two ports and one value.
  const std::vector<package::Port>& ports = group.outputs ? module_.outputs : module_.inputs;
  const auto values = std::ranges::count(ports, false, &package::Port::strings);
  if (part && part->first + part->second > values) from.wrong(key, cat("part of ", key));
  if (group.kind == "optional" && part && part->second > 0) from.wrong("kind", "that of something");
}

void Checker::check_dim(const Fields& from, const package::Dim& dim) {
  if (dim.input < 0) {
    if (dim.output >= 0) from.count("input", static_cast<int64_t>(module_.inputs.size()));
    return;
  }
  const package::Port& port = at(module_.inputs, dim.input);
  from.count("axis", static_cast<int64_t>(port.shape.size()));
  if (!from.ok()) return;
  if (dim.output >= 0) {
    const package::Port& next = at(module_.outputs, dim.output);
    if (next.tensor != port.tensor || next.shape.size() != port.shape.size() ||
        !grown_.insert(port.tensor).second)
      from.wrong("input", "what its output alone continues");
  } else if (at(port.shape, dim.axis).value >= 0 || at(port.symbols, dim.axis) != dim.name ||
             !dims_.insert(dim.name).second) {
    from.wrong("name", "that of its axis, once");
  }
}

void Checker::check_weight(const Fields& from, const package::Weight& weight) const {
  double elements = 1;
  for (int64_t extent : weight.shape) elements *= static_cast<double>(extent);
  check_stored(from, weight.dtype, weight.tensor, elements);
  if (!is_static(slot_of(weight.tensor))) from.wrong("tensor", "in memory of known size");
}

void Checker::check_call(const Fields& from, const Fields& launch, const package::Call& call,
                         const std::vector<int>& tensors) const {
  const package::KernelInfo& kernel = at(module_.kernels, call.kernel);
  const auto count = static_cast<int>(tensors.size());
  if (count != kernel.buffers) from.wrong("kernel", "one with a buffer a tensor");
  if (static_cast<int>(call.scalars.size()) != kernel.scalars)
    from.wrong("scalars", "one number a scalar of the kernel");
  if (std::ranges::any_of(tensors, [&](int one) { return slot_of(one).device != kernel.device; }))
    from.wrong("kernel", "on the device of its tensors");
  for (int written = kernel.buffers - kernel.writes; written < count; ++written)
    for (int before = 0; before < written; ++before)
      if (&slot_of(at(tensors, before)) == &slot_of(at(tensors, written)))
        launch.wrong("tensors", "apart from what the kernel writes");
}

void Checker::check_launch(const Fields& from, const package::Launch& launch) const {
  check_call(from, from, {launch.kernel, launch.scalars, launch.range}, launch.tensors);
  if (launch.hardware) check_call(from.fields("hardware"), from, *launch.hardware, launch.tensors);
}

void Checker::check_steps(const Fields& from, const char* key,
                          const std::vector<package::Step>& steps) const {
  from.list(key,
            [&](const Fields& list, Item item) { check_step(list.fields(item), steps[item]); });
}

void Checker::check_step(const Fields& from, const package::Step& step) const {
  switch (step.kind) {
    case package::Step::Kind::launch:
      if (step.last < step.first) from.wrong("launch", "a part of run");
      for (int one = step.first; one < step.last; ++one)
        if (device_of(one) != device_of(step.first))
          from.wrong("launch", "a part of run on one device");
      break;
    case package::Step::Kind::copy:
      if (at(module_.tensors, step.tensor).dtype != at(module_.tensors, step.to).dtype ||
          slot_of(step.tensor).device == slot_of(step.to).device)
        from.wrong("copy", "a pair of tensors of one type on two devices");
      break;
    case package::Step::Kind::read: {
      const ir::DType dtype = at(module_.tensors, step.tensor).dtype;
      if (!ir::is_int(dtype) && dtype != ir::DType::boolean)
        from.wrong("read", "a tensor of integers");
      from.count("dims", static_cast<int64_t>(module_.dims.size()) - step.count + 1);
    } break;
    case package::Step::Kind::branch:
      check_steps(from, "then", step.body);
      check_steps(from, "else", step.otherwise);
      break;
    case package::Step::Kind::loop:
      check_steps(from, "body", step.body);
      break;
    case package::Step::Kind::plan:
    case package::Step::Kind::set:
      break;
  }
}

void Checker::check() {
  if (module_.side) check_side();
  check_names("files", files_);
  check_names("inputs", module_.inputs);
  check_names("outputs", module_.outputs);
  each("files", files_, [&](const Fields& from, auto& file) { check_file(from, file); });
  each("tensors", module_.tensors, [&](const Fields& from, auto& one) { check_tensor(from, one); });
  each("kernels", module_.kernels, [&](const Fields& from, auto& one) { check_kernel(from, one); });
  check_ports("inputs", module_.inputs);
  check_ports("outputs", module_.outputs);
  each("groups", module_.groups, [&](const Fields& from, auto& one) { check_group(from, one); });
  each("dims", module_.dims, [&](const Fields& from, auto& dim) { check_dim(from, dim); });
  for (const package::Port& port : module_.inputs)
    for (size_t axis = 0; axis < port.shape.size(); ++axis)
      if (port.shape[axis].value < 0 && !dims_.contains(port.symbols[axis]))
        root_.wrong("dims", "complete");
  each("weights", module_.weights, [&](const Fields& from, auto& one) { check_weight(from, one); });
  each("init", module_.init, [&](const Fields& from, package::Launch& launch) {
    check_launch(from, launch);
    if (!std::ranges::all_of(launch.tensors, [&](int one) { return is_static(slot_of(one)); }))
      from.wrong("tensors", "in memory of known size");
  });
  each("run", module_.run, [&](const Fields& from, auto& launch) { check_launch(from, launch); });
  check_steps(root_, "steps", module_.steps);
  const bool has_steps = !module_.steps.empty();
  if (has_steps && !grown_.empty()) root_.wrong("steps", "absent where states grow");
  if (!has_steps && std::ranges::any_of(module_.run, [&](const package::Launch& launch) {
        return at(module_.kernels, launch.kernel).device == 1;
      }))
    root_.wrong("steps", "there to copy to the side");
  if (!has_steps && module_.plan_segments > 1)
    root_.fields("plan").wrong("segments", "a number of segments that steps run");
}

}  // namespace

bool is_static(const package::Slot& slot) {
  return slot.texture.width > 0 ? !slot.texture.height.planned : !slot.bytes.planned;
}

void check_manifest(const Fields& root, Manifest& manifest) { Checker(root, manifest).check(); }

}  // namespace gossamer::runtime
