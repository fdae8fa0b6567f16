// What models are compiled for: the rows of targets.def.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gossamer {

enum class TargetKind : uint8_t {
#define GS_TARGET(name, memory, pages, side, ending, runs_on) name,
#include "base/targets.def"
};

enum class TargetMemory : uint8_t { host, buffers, textures };

struct Target {
  TargetKind kind;
  std::string_view name;
  TargetMemory memory;
  bool pages;
  TargetKind side;
  std::string_view ending;
};
// In the order of targets.def.
std::span<const Target> all_targets();
const Target& target_of(TargetKind kind);

inline std::string_view name_of(TargetKind kind) { return target_of(kind).name; }
// Error: there is none of that name.
Result<TargetKind> target_named(std::string_view name);
// And `more` behind them.
std::vector<std::string> target_names(std::vector<std::string> more = {});

// With compute shaders, whose kernels come for adapters in hardware and in software.
inline bool has_adapters(TargetKind kind) {
  return target_of(kind).memory == TargetMemory::buffers;
}
inline bool is_gpu(TargetKind kind) { return target_of(kind).memory != TargetMemory::host; }
inline bool is_gpu_of_pages(TargetKind kind) { return is_gpu(kind) && target_of(kind).pages; }
inline TargetKind side_of(TargetKind kind) { return target_of(kind).side; }

}  // namespace gossamer
