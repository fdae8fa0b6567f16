// Bind groups, made once for a kernel and the memory that it is launched with.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "runtime/webgpu/library.h"

namespace gossamer::runtime::webgpu {

// A kernel as a launch needs it. `id` is unlike every other's, and every memory's.
struct Pipeline {
  uint64_t id = 0;
  ComputePipeline pipeline = nullptr;
  BindGroupLayout layout = nullptr;
  uint64_t scalar_bytes = 0;  // of the uniform buffer behind the others; 0: there is none
};

struct Bound {
  uint64_t id = 0;
  DeviceBuffer buffer = nullptr;
};

class Bindings {
 public:
  uint64_t next_id() { return ++last_id_; }
  // Bound in order, then `scalars` with a dynamic offset. What the library refuses, it tells.
  BindGroup of(const Library& api, DeviceHandle device, const Pipeline& pipeline,
               std::span<const Bound> buffers, const Bound& scalars);
  // The groups of a pipeline or a buffer that goes.
  void forget(const Library& api, uint64_t id);
  void clear(const Library& api);

 private:
  std::map<std::vector<uint64_t>, BindGroup> groups_;  // by the ids of all that is in them
  std::vector<uint64_t> key_;
  uint64_t last_id_ = 0;
};

}  // namespace gossamer::runtime::webgpu
