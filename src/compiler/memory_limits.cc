// Tensors that no machine of the target can hold are errors of the compiler: the run time could
// only say that memory ended, not for which node.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <set>

#include "compiler/module_builder.h"
#include "ir/build.h"
#include "ir/print.h"

namespace gossamer::compiler {
namespace {

struct Limits {
  int64_t elements;        // of one tensor: what the kernels' index arithmetic reaches
  int64_t bytes;           // of one tensor
  int64_t sum;             // of all slots in bytes
  int64_t texture_height;  // in texels
};

constexpr int64_t most_of_32_bits = most_elements(TargetKind::wasm);

Limits limits_of(TargetKind target, const target::Capabilities& caps) {
  constexpr int64_t none = INT64_MAX, gib = int64_t{1} << 30;
  switch (target) {
    case TargetKind::cpu:
      return {none, int64_t{1} << 46, int64_t{1} << 46, none};  // the address space of a process
    case TargetKind::wasm:
      return {most_of_32_bits, 4 * gib, 4 * gib, none};  // one memory of 32-bit addresses
    case TargetKind::webgpu:
    case TargetKind::opencl:
    case TargetKind::opengl:
      return {most_of_32_bits, caps.max_binding_bytes, none, none};
    case TargetKind::webgl:
      return {most_of_32_bits, 4 * gib, none, caps.max_texture_height};
  }
  return {none, none, none, none};
}

std::string gigabytes(int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GB", static_cast<double>(bytes) / 1e9);
  return text;
}

std::string shape_text(const std::vector<ir::Expr>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + ir::print(shape[i]);
  return text + "]";
}

}  // namespace

ModuleBuilder::Memory ModuleBuilder::memory() const {
  const auto slot_of = [&](int tensor) {
    return static_cast<size_t>(module_.tensors[static_cast<size_t>(tensor)].slot);
  };
  const auto bytes_of = [&](size_t at) {
    const package::Slot& slot = module_.slots[at];
    const package::Texture& texture = slot.texture;
    const int64_t rows = texture.height.planned ? 0 : texture.height.value;
    return (slot.bytes.planned ? 0 : slot.bytes.value) +
           16 * int64_t{texture.width} * texture.layers * rows;
  };
  std::vector<bool> used(module_.slots.size());
  const auto use = [&](int tensor) {
    if (tensor >= 0) used[slot_of(tensor)] = true;
  };
  for (const package::Launch& launch : module_.run)
    for (const int tensor : launch.tensors) use(tensor);
  for (const package::Port& port : module_.inputs) use(port.tensor);
  for (const package::Port& port : module_.outputs) use(port.tensor);
  const auto use_all = [&](const auto& self, const std::vector<package::Step>& steps) -> void {
    for (const package::Step& step : steps) {
      use(step.tensor);
      use(step.to);
      self(self, step.body);
      self(self, step.otherwise);
    }
  };
  use_all(use_all, module_.steps);
  std::map<size_t, size_t>
      last;  // of slots that only loading needs, the launch after which they go
  for (size_t at = 0; at < module_.init.size(); ++at)
    for (const int tensor : module_.init[at].tensors)
      if (!used[slot_of(tensor)]) last[slot_of(tensor)] = at;
  Memory memory;
  for (size_t at = 0; at < module_.slots.size(); ++at)
    if (!last.contains(at)) memory.kept += bytes_of(at);
  int64_t now = memory.kept;
  memory.peak = now;
  std::set<size_t> here;
  for (size_t at = 0; at < module_.init.size(); ++at) {
    for (const int tensor : module_.init[at].tensors)
      if (last.contains(slot_of(tensor)) && here.insert(slot_of(tensor)).second)
        now += bytes_of(slot_of(tensor));
    memory.peak = std::max(memory.peak, now);
    for (const int tensor : module_.init[at].tensors) {
      const size_t slot = slot_of(tensor);
      if (const auto found = last.find(slot); found == last.end() || found->second != at) continue;
      if (here.erase(slot)) now -= bytes_of(slot);
    }
  }
  return memory;
}

Result<> ModuleBuilder::check_memory() const {
  for (const ir::Buffer& buffer : buffers_) {
    const Limits limits = limits_of(device_of(*buffer) ? side_caps_.kind : target_, caps_);
    const memory::MemoryNeed need = need_of(*buffer);
    const auto bytes = ir::as_int(need.bytes);
    if (!bytes) continue;
    const int64_t elements = *bytes / std::max(ir::byte_size(storage_of(*buffer)), 1);
    const auto height = need.height ? ir::as_int(need.height) : std::nullopt;
    if (*bytes <= limits.bytes && elements <= limits.elements &&
        height.value_or(0) <= limits.texture_height)
      continue;
    std::string where = cat("tensor \"", buffer->name, "\"");
    for (const stages::Stage& stage : stages::stages_of(stages_.program))
      if (stage.output.same(buffer)) where = stage.origin;
    return fail_at(where,
                   cat("\"", buffer->name, "\" of shape ", shape_text(buffer->shape), " needs ",
                       gigabytes(*bytes), ", more than target ", name_of(module_.target),
                       " can hold in a tensor"),
                   "use smaller inputs, or a smaller size where it is fixed: --dim, --shape");
  }
  const int64_t sum = memory().peak;
  if (sum > limits_of(target_, caps_).sum)
    return fail(cat("the tensors need ", gigabytes(sum), " together, more than target ",
                    name_of(module_.target), " can hold"),
                "use smaller inputs, or a smaller size where it is fixed: --dim, --shape");
  return {};
}

}  // namespace gossamer::compiler
