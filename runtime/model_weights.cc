// Loading's last part: a package's weights in memory, packed by its launches at load.
#include <set>

#include "runtime/model_state.h"
#include "runtime/shader_sources.h"

namespace gossamer::runtime {
namespace {

using TensorsOfFile = std::map<std::string, StoredTensor, std::less<>>;

// The slots that runs need.
std::set<int> slots_of_runs(const package::Module& module) {
  std::vector<int> tensors;
  for (const package::Launch& launch : module.run)
    tensors.insert(tensors.end(), launch.tensors.begin(), launch.tensors.end());
  for (const std::vector<package::Port>* ports : {&module.inputs, &module.outputs})
    for (const package::Port& port : *ports) tensors.push_back(port.tensor);
  add_tensors(module.steps, tensors);
  const auto slot_of = [&](int tensor) { return module.tensors[static_cast<size_t>(tensor)].slot; };
  std::set<int> used;
  for (int tensor : tensors) used.insert(slot_of(tensor));
  return used;
}

// What of loading is left to do where some slots are filled already.
struct Left {
  std::vector<bool> launches;  // of init
  std::vector<bool> slots;     // that they or runs need and that are not filled
  std::vector<bool> spent;     // slots that only launches need
  std::map<int, size_t> last;  // of these, the last one that does
};
Left left_to_do(const package::Module& module, const std::vector<std::shared_ptr<Buffer>>& slots) {
  const std::set<int> runs = slots_of_runs(module);
  Left left{std::vector<bool>(module.init.size()), {}, std::vector<bool>(slots.size()), {}};
  const auto slot_of = [&](int tensor) { return module.tensors[static_cast<size_t>(tensor)].slot; };
  for (const package::Launch& launch : module.init)
    for (int tensor : launch.tensors)
      if (!runs.contains(slot_of(tensor))) left.spent[static_cast<size_t>(slot_of(tensor))] = true;
  for (size_t at = 0; at < slots.size(); ++at) left.slots.push_back(!slots[at] && !left.spent[at]);
  for (size_t at = module.init.size(); at-- > 0;) {
    const package::Launch& launch = module.init[at];
    const int writes = module.kernels[static_cast<size_t>(launch.kernel)].writes;
    left.launches[at] =
        std::any_of(launch.tensors.end() - writes, launch.tensors.end(),
                    [&](int one) { return left.slots[static_cast<size_t>(slot_of(one))]; });
    if (!left.launches[at]) continue;
    for (int tensor : launch.tensors) {
      const auto slot = static_cast<size_t>(slot_of(tensor));
      left.slots[slot] = !slots[slot];
      if (left.spent[slot]) left.last.emplace(slot_of(tensor), at);
    }
  }
  return left;
}

// A weight's bytes. Errors: it is not as the manifest says.
Result<std::span<const std::byte>> find_weight(const TensorsOfFile& stored,
                                               const package::Weight& weight,
                                               const std::string& file) {
  const std::string where = cat("weight \"", weight.name, "\"");
  const auto found = stored.find(weight.name);
  if (found == stored.end()) return fail_at(where, cat("is not in ", file));
  const StoredTensor& tensor = found->second;
  uint64_t bytes = static_cast<uint64_t>(ir::byte_size(weight.dtype));
  for (int64_t extent : weight.shape)
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes))
      return fail_at(where, "its shape has no size");
  if (tensor.type != package::safetensors_name(weight.dtype) || tensor.shape != weight.shape ||
      tensor.bytes.size() != bytes)
    return fail_at(
        where, cat("is ", tensor.type, shape_text(tensor.shape), " in the file, the manifest says ",
                   ir::name_of(weight.dtype), shape_text(weight.shape)));
  return tensor.bytes;
}

}  // namespace

// Weight by weight: what one is packed from has gone before the next comes, so that loading takes
// little more memory than what stays. What models before had, too, is there.
Result<> Model::State::initialize(Shared* shared) {
  Origins origins(slots.size());
  if (shared) {
    GS_ASSIGN(origins, find_origins());
    for (size_t at = 0; at < slots.size(); ++at)
      if (origins[at]) slots[at] = shared->constant(*origins[at]);
  }
  const Left left = left_to_do(module(), slots);
  spent = left.spent;
  const auto provide = [&](int slot) -> Result<> {
    const auto at = static_cast<size_t>(slot);
    if (slots[at] || !is_static(module().slots[at])) return {};
    GS_ASSIGN(slots[at], allocate(at, {}));
    return {};
  };
  const auto slot_at = [&](int tensor) {
    return module().tensors[static_cast<size_t>(tensor)].slot;
  };
  for (size_t at = 0; at < slots.size(); ++at)
    if (!spent[at]) GS_TRY(provide(static_cast<int>(at)));
  std::map<int, const package::Weight*> weights;  // by tensor
  for (const package::Weight& weight : module().weights)
    if (left.slots[static_cast<size_t>(slot_at(weight.tensor))]) weights[weight.tensor] = &weight;
  std::map<std::string, TensorsOfFile> files;
  const auto upload = [&](const package::Weight& weight) -> Result<> {
    const std::string name = file_of(weight);
    if (!files.contains(name)) {
      GS_ASSIGN(const auto file, package.file(name));
      auto stored = parse_safetensors(file);
      if (!stored) return fail_at(name, stored.error().message);
      files[name] = *std::move(stored);
    }
    GS_ASSIGN(const auto bytes, find_weight(files[name], weight, name));
    if (!memory_of(weight.tensor))
      return fail_at(cat("weight \"", weight.name, "\""), "lies in memory that has gone");
    if (auto written = write_tensor(weight.tensor, weight.dtype, bytes); !written)
      return fail_at(cat("weight \"", weight.name, "\""), written.error().message);
    return {};
  };
  GS_ASSIGN(const Sized sizes, compute_sizes({}, module().init));
  for (size_t at = 0; at < module().init.size(); ++at) {
    if (!left.launches[at]) continue;
    const package::Launch& launch = module().init[at];
    for (int tensor : launch.tensors) {
      GS_TRY(provide(slot_at(tensor)));
      if (const auto weight = weights.extract(tensor)) GS_TRY(upload(*weight.mapped()));
    }
    GS_TRY(this->launch(launch, sizes.scalars[at], sizes.ranges[at]));
    for (int tensor : launch.tensors) {
      const auto found = left.last.find(slot_at(tensor));
      if (found != left.last.end() && found->second == at)
        slots[static_cast<size_t>(found->first)] = nullptr;
    }
  }
  for (const auto& [tensor, weight] : weights) GS_TRY(upload(*weight));
  for (size_t at = 0; shared && at < slots.size(); ++at)
    if (origins[at] && slots[at]) shared->add_constant(*origins[at], slots[at]);
  return {};
}

Result<Origins> Model::State::find_origins() {
  std::vector<std::string> sources(module().kernels.size());
  std::vector<const std::string*> known(sources.size());
  const std::vector<KernelEntry> entries = entries_of(0);
  if (code && package.files.contains("kernels.json")) {
    GS_ASSIGN(const auto bytes, package.file("kernels.json"));
    GS_ASSIGN(std::vector<std::string> found, shader_sources(bytes, entries));
    for (size_t at = 0; at < sources.size(); ++at) {
      if (loaded[at] < 0 || module().kernels[at].device != 0) continue;
      sources[at] = std::move(found[static_cast<size_t>(loaded[at])]);
      known[at] = &sources[at];
    }
  }
  return origins_of(package.manifest, known);
}

}  // namespace gossamer::runtime
