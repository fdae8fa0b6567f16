#include "compiler/canonical.h"

#include <algorithm>
#include <set>

#include "ir/build.h"
#include "ir/key.h"
#include "ir/rewrite.h"

namespace gossamer::compiler {

using ir::Expr;
using ir::Var;

Canonical canonicalize(const ir::Kernel& kernel, const std::vector<Var>& dims) {
  Canonical result;
  ir::VarMap scalars;
  std::vector<Var> fresh;
  std::set<const ir::Node*> used;
  const auto look = [&](const Expr& e) {
    if (e->kind == ir::NodeKind::Var) used.insert(e.get());
    return true;
  };
  if (!dims.empty()) {
    ir::visit(kernel.body, [](const ir::Stmt&) { return true; }, look);
    for (const ir::Kernel::Param& param : kernel.params) {
      for (const Expr& extent : param.buffer->shape) ir::visit(extent, look);
    }
  }
  for (const Var& dim : dims) {
    if (!used.contains(dim.get())) continue;
    result.scalars.push_back(dim);
    fresh.push_back(ir::var("s" + std::to_string(fresh.size())));
    scalars[dim.get()] = fresh.back();
  }
  ir::BufferMap buffers;
  ir::Kernel& canonical = result.kernel;
  canonical.name = "kernel";
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    auto* node = new ir::BufferNode(*kernel.params[i].buffer);
    node->name = "b" + std::to_string(i);
    for (Expr& extent : node->shape) extent = ir::substitute(extent, scalars);
    const ir::Buffer buffer(node);
    buffers[kernel.params[i].buffer.get()] = buffer;
    canonical.params.push_back({buffer, kernel.params[i].written, kernel.params[i].updated});
  }
  canonical.scalars = fresh;
  canonical.body = ir::substitute(kernel.body, scalars, buffers);
  result.key = ir::key_of(canonical);
  return result;
}

SignedParts split_sign(const Var& variable) {
  SignedParts parts;
  parts.positive = ir::var(variable->name + ".up");
  parts.negative = ir::var(variable->name + ".down");
  parts.positive_of = ir::max(variable, ir::index(0));
  parts.negative_of = ir::max(ir::index(0) - Expr(variable), ir::index(0));
  return parts;
}

ir::Kernel with_parts(const ir::Kernel& kernel, const std::vector<Var>& variables,
                      const std::vector<SignedParts>& parts) {
  ir::VarMap map;
  for (size_t i = 0; i < variables.size(); ++i)
    map[variables[i].get()] = Expr(parts[i].positive) - Expr(parts[i].negative);
  ir::Kernel result = kernel;
  ir::BufferMap buffers;
  for (ir::Kernel::Param& param : result.params) {
    auto* node = new ir::BufferNode(*param.buffer);
    const ir::Buffer fresh(node);
    for (Expr& extent : node->shape) extent = ir::substitute(extent, map);
    buffers[param.buffer.get()] = fresh;
    param.buffer = fresh;
  }
  result.body = ir::substitute(ir::substitute_buffers(kernel.body, buffers), map);
  std::vector<Var> scalars;
  for (const Var& scalar : kernel.scalars) {
    bool split = false;
    for (size_t i = 0; i < variables.size(); ++i) {
      if (!variables[i].same(scalar)) continue;
      scalars.push_back(parts[i].positive);
      scalars.push_back(parts[i].negative);
      split = true;
    }
    if (!split) scalars.push_back(scalar);
  }
  result.scalars = std::move(scalars);
  return result;
}

}  // namespace gossamer::compiler
