#include "codegen/private_cells.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/result.h"
#include "ir/build.h"
#include "ir/rewrite.h"

namespace gossamer::codegen {
namespace {

struct Access {
  int64_t offset;
  int lanes;
};

// The constant offset and width of an index, if it is one.
std::optional<Access> constant_access(const ir::Expr& index) {
  if (const auto* ramp = ir::as<ir::Ramp>(index)) {
    const auto base = ir::as_int(ramp->base);
    if (!base || ramp->stride != 1) return std::nullopt;
    return Access{*base, index->type.lanes};
  }
  const auto at = ir::as_int(index);
  if (!at || !index->type.is_scalar()) return std::nullopt;
  return Access{*at, 1};
}

}  // namespace

int64_t private_elements(const ir::BufferNode* buffer) {
  int64_t count = 1;
  for (const ir::Expr& extent : buffer->shape) {
    const auto known = ir::as_int(extent);
    GS_CHECK(known, "private buffer ", buffer->name, " has an unknown extent");
    count *= *known;
  }
  return count;
}

int cell_lanes_of(const ir::BufferNode* buffer, const ir::Stmt& body, bool parts) {
  int widest = 1;
  bool constant = true;
  std::vector<Access> accesses;
  const auto see = [&](const std::vector<ir::Expr>& indices) {
    const auto access = indices.size() == 1 ? constant_access(indices[0]) : std::nullopt;
    if (!access) {
      constant = false;
      return;
    }
    widest = std::max(widest, access->lanes);
    accesses.push_back(*access);
  };
  ir::visit(
      body,
      [&](const ir::Stmt& stmt) {
        if (const auto* store = ir::as<ir::Store>(stmt); store && store->buffer.get() == buffer)
          see(store->indices);
        return constant;
      },
      [&](const ir::Expr& expr) {
        if (const auto* load = ir::as<ir::Load>(expr); load && load->buffer.get() == buffer)
          see(load->indices);
        return constant;
      });
  if (!constant) return 0;
  for (const Access& access : accesses) {
    const bool fits = parts ? widest % access.lanes == 0 : access.lanes == widest;
    if (access.lanes > 1 && (!fits || access.offset % access.lanes != 0)) return 0;
  }
  return widest;
}

int64_t constant_offset(const ir::Expr& index) {
  const auto* ramp = ir::as<ir::Ramp>(index);
  return *ir::as_int(ramp ? ramp->base : index);
}

}  // namespace gossamer::codegen
