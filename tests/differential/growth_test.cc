// What a kernel costs to compile grows with its stage as a graph, in which a shared expression
// counts once: choices within choices share their parts, and as trees they would grow without end.
#include <gtest/gtest.h>

#include "autoschedule/default_schedule.h"
#include "codegen/llvm/emit.h"
#include "codegen/wasm/emit.h"
#include "compiler/pipeline.h"
#include "compiler/shaders.h"
#include "ir/build.h"
#include "ir/rewrite.h"

namespace gossamer::differential {
namespace {

using ir::DType;
using ir::Expr;
using ir::index;

size_t node_count(const ir::Stmt& body) {
  size_t count = 0;
  ir::visit(
      body, [&](const ir::Stmt&) { return ++count > 0; }, [&](const Expr&) { return ++count > 0; });
  return count;
}

// C[i, j]: `depth` choices, each of what the one before gave, used three times, and of an element
// that is found by it.
stages::Stage choices(int depth, const Expr& rows) {
  const ir::Buffer a = ir::buffer("A", DType::i32, {rows, index(16)});
  const ir::Buffer table = ir::buffer("T", DType::i32, {index(100)});
  const ir::Var i = ir::var("i"), j = ir::var("j");
  stages::Stage stage;
  stage.name = "choices";
  stage.output = ir::buffer("C", DType::i32, a->shape);
  stage.axes = {i, j};
  stage.extents = a->shape;
  Expr x = ir::load(a, {i, Expr(j) + index(1)});
  for (int level = 0; level < depth; ++level) {
    const double limit = level * 7 % 5;
    const Expr found = ir::load(table, {ir::cast(DType::index, x)});
    x = ir::select(x < limit, x * 3.0, ir::select(x < limit + 20.0, found + x, x - 1.0));
  }
  stage.result = x;
  return stage;
}

struct Size {
  size_t nodes = 0, code = 0;  // of the loop program after all passes; bytes
};

Size size_of(TargetKind target, const stages::Stage& stage) {
  const target::Capabilities caps = target::capabilities_of(target);
  const auto kernel = compiler::run_pipeline(
      autoschedule::schedule_default(stages::single_group(stage), caps).kernel, target);
  EXPECT_TRUE(kernel);
  if (!kernel) return {};
  Size size{node_count(kernel->body), 0};
  if (target == TargetKind::cpu) {
    if (const auto object = codegen::llvm_::emit_object({&*kernel, 1}, nullptr, {}))
      size.code = object->size();
  } else if (target == TargetKind::wasm) {
    size.code = codegen::wasm::emit_module({&*kernel, 1}, nullptr, {}).size();
  } else if (const auto shader = compiler::print_shader(*kernel, caps)) {
    size.code = shader->code.size();
  }
  return size;
}

TEST(Growth, ChoicesWithinChoicesStayInProportion) {
  for (const TargetKind target : {TargetKind::cpu, TargetKind::wasm, TargetKind::webgpu}) {
    for (const Expr& rows : {index(8), Expr(ir::var("n"))}) {
      const Size some = size_of(target, choices(3, rows)),
                 twice = size_of(target, choices(6, rows));
      EXPECT_GT(some.code, 0u);
      EXPECT_LE(twice.nodes, some.nodes * 5 / 2) << name_of(target);
      EXPECT_LE(twice.code, some.code * 5 / 2) << name_of(target);
    }
  }
}

}  // namespace
}  // namespace gossamer::differential
