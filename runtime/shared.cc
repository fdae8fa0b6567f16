#include "runtime/shared.h"

#include <set>

#include "package/sha256.h"

namespace gossamer::runtime {
namespace {

std::string hash_of(const std::string& text) {
  return package::sha256(std::as_bytes(std::span(text)));
}

// Of the memory of what runs write, and of what several tensors share.
std::set<int> changing_slots(const package::Module& module) {
  std::vector<int> tensors;
  for (const package::Port& port : module.inputs) tensors.push_back(port.tensor);
  add_tensors(module.steps, tensors);
  for (const package::Launch& launch : module.run) {
    const int writes = module.kernels[static_cast<size_t>(launch.kernel)].writes;
    tensors.insert(tensors.end(), launch.tensors.end() - writes, launch.tensors.end());
  }
  std::set<int> slots, seen;
  for (int tensor : tensors) slots.insert(module.tensors[static_cast<size_t>(tensor)].slot);
  for (const package::Tensor& tensor : module.tensors)
    if (!seen.insert(tensor.slot).second) slots.insert(tensor.slot);
  return slots;
}

}  // namespace

Result<std::shared_ptr<Device>> Shared::device(
    const std::string& name, const std::function<Result<std::unique_ptr<Device>>()>& make) {
  if (const auto found = devices_.find(name); found != devices_.end()) return found->second;
  GS_ASSIGN(std::shared_ptr<Device> made, make());
  devices_[name] = made;
  return made;
}

std::shared_ptr<const MappedFile> Shared::file(const std::string& sha256) const {
  const auto found = files_.find(sha256);
  return found == files_.end() ? nullptr : found->second.lock();
}

void Shared::add_file(const std::string& sha256, const std::shared_ptr<const MappedFile>& file) {
  files_[sha256] = file;
  now_.files.push_back(file);
}

std::shared_ptr<Buffer> Shared::constant(const std::string& origin) const {
  const auto found = constants_.find(origin);
  return found == constants_.end() ? nullptr : found->second.lock();
}

void Shared::add_constant(const std::string& origin, const std::shared_ptr<Buffer>& buffer) {
  constants_[origin] = buffer;
  now_.constants.push_back(buffer);
}

void Shared::begin() {
  before_ = std::move(now_);
  now_ = {};
  const auto gone = [](const auto& one) { return one.second.expired(); };
  std::erase_if(files_, gone);
  std::erase_if(constants_, gone);
}

void Shared::forget() { *this = {}; }

void add_tensors(const std::vector<package::Step>& steps, std::vector<int>& tensors) {
  for (const package::Step& step : steps) {
    for (int tensor : {step.tensor, step.to})
      if (tensor >= 0) tensors.push_back(tensor);
    add_tensors(step.body, tensors);
    add_tensors(step.otherwise, tensors);
  }
}

Origins origins_of(const Manifest& manifest, const std::vector<const std::string*>& sources) {
  const package::Module& module = manifest.module;
  const std::set<int> changing = changing_slots(module);
  Origins origins(module.slots.size());
  const auto slot_of = [&](int tensor) {
    return static_cast<size_t>(module.tensors[static_cast<size_t>(tensor)].slot);
  };
  const auto set = [&](int tensor, const std::string& text) {
    const size_t at = slot_of(tensor);
    const package::Slot& slot = module.slots[at];
    const package::Texture& texture = slot.texture;
    if (changing.contains(static_cast<int>(at)) || slot.bytes.planned || texture.height.planned)
      return;
    origins[at] = hash_of(cat(text, " in ", slot.bytes.value, " ", texture.width, "x",
                              texture.height.value, "x", texture.layers, " of ", slot.device));
  };
  for (const package::Weight& weight : module.weights) {
    const std::string name =
        weight.file < 0 ? "" : manifest.files[static_cast<size_t>(weight.file)].name;
    for (const FileEntry& file : manifest.files) {
      if (file.name != (name.empty() ? "weights.safetensors" : name) || file.sha256.empty())
        continue;
      const package::Tensor& tensor = module.tensors[static_cast<size_t>(weight.tensor)];
      set(weight.tensor, cat(file.sha256, " ", ir::name_of(weight.dtype), " as ",
                             ir::name_of(tensor.storage), " ", weight.name));
    }
  }
  for (const package::Launch& launch : module.init) {
    const auto kernel = static_cast<size_t>(launch.kernel);
    const package::KernelInfo& info = module.kernels[kernel];
    bool known = sources[kernel] && !launch.range.planned;
    std::string text;
    if (known)
      text = cat(info.entry, " of ", hash_of(*sources[kernel]), " ", info.group_size, " ",
                 launch.range.value);
    for (const package::Number& scalar : launch.scalars) {
      known = known && !scalar.planned;
      text += cat(" ", scalar.value);
    }
    const size_t reads = launch.tensors.size() - static_cast<size_t>(info.writes);
    for (size_t at = 0; at < reads; ++at) {
      const auto& origin = origins[slot_of(launch.tensors[at])];
      known = known && origin;
      if (origin) text += cat(" ", *origin);
    }
    for (size_t at = reads; at < launch.tensors.size(); ++at) {
      if (known) {
        set(launch.tensors[at], cat(text, " to ", at));
      } else {
        origins[slot_of(launch.tensors[at])] = std::nullopt;
      }
    }
  }
  return origins;
}

}  // namespace gossamer::runtime
