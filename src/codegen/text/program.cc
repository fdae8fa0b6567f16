#include "codegen/text/program.h"

#include "codegen/text/lower_arithmetic.h"
#include "codegen/text/share_expressions.h"
#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"
#include "passes/legalize_types.h"

namespace gossamer::codegen::text {
namespace {

using namespace ir;

// Removes the loops over the grid and a group; Lets around them become part of the invocation.
Stmt enter(const Stmt& s, Program& program) {
  if (auto* node = as<Let>(s)) return let(node->var, node->value, enter(node->body, program));
  if (auto* node = as<Alloc>(s); node && node->buffer->scope == Scope::group) {
    return alloc(node->buffer, enter(node->body, program));
  }
  auto* node = as<For>(s);
  if (node && node->loop == LoopKind::grid) {
    program.grid = node->var;
    program.range = simplify(node->extent);
    return enter(node->body, program);
  }
  if (node && node->loop == LoopKind::group) {
    const auto size = as_int(simplify(node->extent));
    GS_CHECK(size, "group size of ", program.placed.kernel.name, " is not constant");
    program.group = node->var;
    program.group_size = static_cast<int>(*size);
    return node->body;
  }
  return s;
}

// Group memory belongs to the module, not to an invocation.
Stmt collect_group_buffers(const Stmt& s, std::vector<Buffer>& buffers) {
  Rewriter rewriter;
  rewriter.stmt = [&](const Stmt& inner) {
    auto* node = as<Alloc>(inner);
    if (!node || node->buffer->scope != Scope::group) return Stmt();
    buffers.push_back(node->buffer);
    return node->body;
  };
  return rewrite(s, rewriter);
}

// A fragment is where it is: the coordinates it stores to are not computed.
Stmt drop_fragment_position(const Stmt& s) {
  Rewriter rewriter;
  rewriter.stmt = [](const Stmt& inner) {
    auto* node = as<Store>(inner);
    if (!node || node->buffer->layout.memory != Memory::texture) return Stmt();
    return store(node->buffer, {index(0), index(0), node->indices[2]}, node->value);
  };
  return rewrite(s, rewriter);
}

}  // namespace

Result<Program> raise_program(const Kernel& kernel, bool exact, bool f16, bool clamp, bool dots) {
  const TypeRules rules{.words = true, .stores_halves = f16, .sums_bytes = dots};
  GS_ASSIGN(const Kernel legal, passes::legalize_types(kernel, rules));
  Program program;
  GS_ASSIGN(program.placed, place_buffers(legal, clamp));
  // After places: they divide indices. Before sharing: it makes expressions that occur twice.
  const Kernel lowered = lower_arithmetic(program.placed.kernel, exact);
  program.body = enter(lowered.body, program);
  GS_CHECK(program.grid.get(), "kernel ", kernel.name, " has no grid loop");
  program.body = collect_group_buffers(program.body, program.group_buffers);
  program.body = share_expressions(drop_fragment_position(program.body));
  program.placed.kernel.body = {};
  return program;
}

}  // namespace gossamer::codegen::text
