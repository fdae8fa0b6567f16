// A slow, obvious interpreter of kernels on host memory, before or after any pass: the oracle of
// generators and passes. Statements run in lockstep over the invocations of a group, so barriers
// need no threads.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "interp/place.h"
#include "ir/scalar.h"

namespace gossamer::interp {

// What memory holds for each buffer: physical elements (layout, padding) in the storage type.
// Textures: texels of four elements, [layer][y][x].
using Memory = std::unordered_map<const ir::BufferNode*, std::vector<std::byte>>;

struct Chunk {
  int64_t begin, end;  // of the grid loop
};

// Runs a kernel (or a chunk of its grid). `scalars` are the values of kernel.scalars. Buffers that
// memory lacks are added, filled with 0xff. Accesses are logical as long as they have an index per
// axis, else flat. A load outside of its buffer gives NaN or all ones; a store outside and a
// barrier that not every invocation reaches are errors.
Result<> run(const ir::Kernel& kernel, Memory& memory, std::span<const int64_t> scalars = {},
             std::optional<Chunk> chunk = {});

// The extents of a kernel's buffer under these scalars.
std::vector<int64_t> extents_of(const ir::BufferNode& buffer, const ir::Kernel& kernel,
                                std::span<const int64_t> scalars);

// Between values in row-major order and memory: converts to and from the storage type; padding
// becomes 0xff bytes.
std::vector<std::byte> pack(const ir::BufferNode& buffer, const std::vector<int64_t>& extents,
                            std::span<const double> values);
std::vector<double> unpack(const ir::BufferNode& buffer, const std::vector<int64_t>& extents,
                           std::span<const std::byte> bytes);

}  // namespace gossamer::interp
