// Tensors that no machine of the target can hold are errors of the compiler: the run time could
// only say that memory ended, not for which node.
#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "compiler/module_builder.h"
#include "ir/build.h"

namespace gossamer::compiler {
namespace {

using schedule::TargetKind;

struct Limits {
  int64_t elements;        // of one tensor: what the kernels' index arithmetic reaches
  int64_t bytes;           // of one tensor
  int64_t sum;             // of all slots in bytes
  int64_t texture_height;  // in texels
};

constexpr int64_t most_of_32_bits = most_elements(TargetKind::wasm);

Limits limits_of(TargetKind target, const schedule::Capabilities& caps) {
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

}  // namespace

Result<> ModuleBuilder::check_memory() const {
  for (const ir::Buffer& buffer : buffers_) {
    const Limits limits = limits_of(device_of(*buffer) ? side_caps_.kind : target_, caps_);
    const graph::MemoryNeed need = need_of(*buffer);
    const auto bytes = ir::as_int(need.bytes);
    if (!bytes) continue;
    const int64_t elements = *bytes / std::max(ir::byte_size(storage_of(*buffer)), 1);
    const auto height = need.height ? ir::as_int(need.height) : std::nullopt;
    if (*bytes <= limits.bytes && elements <= limits.elements &&
        height.value_or(0) <= limits.texture_height)
      continue;
    std::string where = cat("tensor \"", buffer->name, "\"");
    for (const ops::Stage& stage : ops::stages_of(stages_.program))
      if (stage.output.same(buffer)) where = stage.origin;
    return fail_at(where,
                   cat("\"", buffer->name, "\" needs ", gigabytes(*bytes), ", more than target ",
                       module_.target, " can hold in a tensor"),
                   "use smaller inputs");
  }
  int64_t sum = 0;
  for (const package::Slot& slot : module_.slots) sum += slot.bytes.planned ? 0 : slot.bytes.value;
  if (sum > limits_of(target_, caps_).sum)
    return fail(cat("the tensors need ", gigabytes(sum), " together, more than target ",
                    module_.target, " can hold"),
                "use smaller inputs");
  return {};
}

}  // namespace gossamer::compiler
