#include "codegen/text/compute_shader.h"

#include <algorithm>
#include <functional>

#include "ir/build.h"
#include "ir/verify.h"

namespace gossamer::codegen::text {
namespace {

constexpr int64_t most_groups_in_x = 65535;

}  // namespace

Result<Compute> raise_compute(const ir::Kernel& kernel, const ComputeOptions& options, bool clamp) {
  using enum ir::Property;
  GS_TRY(ir::verify(
      kernel, scheduled | no_vector_loops | no_unrolled_loops | flat_access | contiguous_vectors));
  Compute raised;
  GS_ASSIGN(raised.program, raise_program(kernel, options.exact, options.f16, clamp, options.dots));
  const Program& program = raised.program;
  GS_CHECK(std::ranges::is_partitioned(kernel.params, std::logical_not<>(),
                                       &ir::Kernel::Param::written) &&
               kernel.params.back().written,
           "what ", kernel.name, " writes comes last");
  if (program.group_size > options.max_group_size) {
    return fail_at(kernel.name, cat("a workgroup of ", program.group_size, " invocations; at most ",
                                    options.max_group_size, " are allowed"));
  }
  if (static_cast<int>(kernel.params.size()) > options.max_storage_buffers) {
    return fail_at(kernel.name,
                   cat(kernel.params.size(), " storage buffers; at most ",
                       options.max_storage_buffers, " are allowed"),
                   "fuse fewer operators");
  }
  const auto range = ir::as_int(program.range);
  raised.grid_is_2d = !range || *range > most_groups_in_x;
  raised.range_scalar = !range;
  return raised;
}

ComputeShader describe(const Compute& compute, Writer& writer) {
  const Placed& placed = compute.program.placed;
  ComputeShader shader;
  shader.group_size = compute.program.group_size;
  for (size_t i = 0; i < placed.kernel.params.size(); ++i) {
    const ir::BufferNode* buffer = placed.kernel.params[i].buffer.get();
    writer.set_name(buffer, cat("b", i));
    shader.bindings.push_back({buffer->storage, placed.places.at(buffer).width == 4});
  }
  shader.range_scalar = compute.range_scalar;
  shader.scalars = static_cast<int>(placed.kernel.scalars.size()) + (compute.range_scalar ? 1 : 0);
  return shader;
}

void name_places(const Compute& compute, Writer& writer, std::string grid, std::string invocation) {
  writer.set_name(compute.program.grid.get(), std::move(grid));
  if (compute.program.group.get())
    writer.set_name(compute.program.group.get(), std::move(invocation));
}

}  // namespace gossamer::codegen::text
