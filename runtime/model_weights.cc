// Loading's last part: a package's weights in memory, packed by its launches at load.
#include <set>

#include "runtime/model_state.h"

namespace gossamer::runtime {
namespace {

using TensorsOfFile = std::map<std::string, StoredTensor, std::less<>>;

void add_tensors(const std::vector<package::Step>& steps, std::vector<int>& tensors) {
  for (const package::Step& step : steps) {
    for (int tensor : {step.tensor, step.to})
      if (tensor >= 0) tensors.push_back(tensor);
    add_tensors(step.body, tensors);
    add_tensors(step.otherwise, tensors);
  }
}

// The slots that only launches at load need, such as those of weights that are packed into another
// layout, with the number of the last launch that does.
std::map<int, size_t> last_uses(const package::Module& module) {
  std::vector<int> tensors;
  for (const package::Launch& launch : module.run)
    tensors.insert(tensors.end(), launch.tensors.begin(), launch.tensors.end());
  for (const std::vector<package::Port>* ports : {&module.inputs, &module.outputs})
    for (const package::Port& port : *ports) tensors.push_back(port.tensor);
  add_tensors(module.steps, tensors);
  const auto slot_of = [&](int tensor) { return module.tensors[static_cast<size_t>(tensor)].slot; };
  std::set<int> used;
  for (int tensor : tensors) used.insert(slot_of(tensor));
  std::map<int, size_t> last;
  for (size_t at = 0; at < module.init.size(); ++at)
    for (int tensor : module.init[at].tensors)
      if (!used.contains(slot_of(tensor))) last[slot_of(tensor)] = at;
  return last;
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
// little more memory than what stays.
Result<> Model::State::initialize() {
  const std::map<int, size_t> last = last_uses(module());
  spent.assign(slots.size(), false);
  const auto provide = [&](int slot) -> Result<> {
    const auto at = static_cast<size_t>(slot);
    if (slots[at] || !is_static(module().slots[at])) return {};
    GS_ASSIGN(slots[at], allocate(at, {}));
    return {};
  };
  for (size_t at = 0; at < slots.size(); ++at)
    if (!last.contains(static_cast<int>(at))) GS_TRY(provide(static_cast<int>(at)));
  std::map<int, const package::Weight*> left;  // by tensor
  for (const package::Weight& weight : module().weights) left[weight.tensor] = &weight;
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
    const package::Launch& launch = module().init[at];
    for (int tensor : launch.tensors) {
      GS_TRY(provide(module().tensors[static_cast<size_t>(tensor)].slot));
      if (const auto weight = left.extract(tensor)) GS_TRY(upload(*weight.mapped()));
    }
    GS_TRY(this->launch(launch, sizes.scalars[at], sizes.ranges[at]));
    for (int tensor : launch.tensors) {
      const int slot = module().tensors[static_cast<size_t>(tensor)].slot;
      const auto found = last.find(slot);
      if (found == last.end() || found->second != at) continue;
      slots[static_cast<size_t>(slot)] = nullptr;
      spent[static_cast<size_t>(slot)] = true;
    }
  }
  for (const auto& [tensor, weight] : left) GS_TRY(upload(*weight));
  return {};
}

}  // namespace gossamer::runtime
