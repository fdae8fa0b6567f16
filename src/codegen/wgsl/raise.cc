#include "codegen/wgsl/raise.h"

#include <algorithm>
#include <functional>

#include "ir/build.h"

namespace gossamer::codegen::wgsl {
namespace {

constexpr int64_t most_groups_in_x = 65535;

}  // namespace

Result<Raised> raise(const ir::Kernel& kernel, const Options& options) {
  Raised raised;
  GS_ASSIGN(raised.program, text::raise_program(kernel, options.exact, options.f16));
  const text::Program& program = raised.program;
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

}  // namespace gossamer::codegen::wgsl
