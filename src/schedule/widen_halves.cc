#include "schedule/widen_halves.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "schedule/access.h"

namespace gossamer::schedule {
namespace {

using ir::Buffer;
using ir::DType;
using ir::Expr;
using ops::Stage;

constexpr int64_t least_reuse = 32;

bool is_half(const ir::BufferNode& buffer) {
  return buffer.dtype == DType::f16 || buffer.dtype == DType::bf16;
}

// How many points of a stage read the same element at least: what a run tells counts as one.
int64_t reuse_of(const Stage& stage, const ir::Load& load) {
  int64_t points = 1;
  for (size_t i = 0; i < stage.axes.size(); ++i) {
    const bool moves = std::ranges::any_of(
        load.indices, [&](const Expr& e) { return ir::uses(e, stage.axes[i].get()); });
    if (!moves) points *= std::max<int64_t>(ir::as_int(stage.extents[i]).value_or(1), 1);
  }
  return points;
}

Stage conversion_of(const Buffer& halves) {
  Stage stage;
  stage.name = "widen";
  stage.output = ir::buffer(halves->name + ".single", DType::f32, halves->shape);
  stage.extents = halves->shape;
  std::vector<Expr> point;
  for (size_t i = 0; i < halves->shape.size(); ++i) {
    stage.axes.push_back(ir::var("i" + std::to_string(i)));
    point.push_back(stage.axes.back());
  }
  stage.result = ir::cast(DType::f32, ir::load(halves, point));
  return stage;
}

}  // namespace

void widen_halves(ops::Program& program, const std::unordered_set<const ir::BufferNode*>& kept,
                  const Capabilities& capabilities) {
  if (!capabilities.has_bytes) return;
  std::set<const ir::BufferNode*> made;
  for (const ops::Entry& entry : program) {
    const Buffer output = entry.output();
    if (output && entry.stage() && is_half(*output) && !kept.contains(output.get()) &&
        !made.insert(output.get()).second)
      return;  // written twice: what is read depends on when
  }
  const std::vector<int> blocks = ops::blocks_of(program);
  // By the block as well: what one branch converts is not there in the other.
  std::map<std::pair<const ir::BufferNode*, int>, Buffer> singles;
  ops::Program result;
  for (size_t at = 0; at < program.size(); ++at) {
    Stage* stage = program[at].stage();
    const bool sums = stage && stage->kind == ops::StageKind::reduce && !stage->in_order &&
                      stage->combiner.is_sum();
    if (!sums) {
      result.push_back(std::move(program[at]));
      continue;
    }
    const Expr before = stage->values[0];  // keeps the loads alive
    for (const ir::Load* load : loads_of(before)) {
      const Buffer& halves = load->buffer;
      if (!made.contains(halves.get()) || reuse_of(*stage, *load) < least_reuse) continue;
      Buffer& single = singles[{halves.get(), blocks[at]}];
      if (!single) {
        Stage conversion = conversion_of(halves);
        conversion.origin = stage->origin;
        single = conversion.output;
        result.emplace_back(std::move(conversion));
      }
      ir::Rewriter rewriter;
      rewriter.expr_before = [&](const Expr& e) -> Expr {
        const auto* widened = ir::as<ir::Cast>(e);
        const bool to_single = widened && widened->type.dtype == DType::f32;
        const auto* one = ir::as<ir::Load>(to_single ? widened->a : e);
        if (!one || !one->buffer.same(halves)) return {};
        const Expr number = ir::load(single, one->indices);
        return to_single ? number : ir::cast(halves->dtype, number);
      };
      stage->values[0] = ir::simplify(ir::rewrite(stage->values[0], rewriter));
    }
    result.push_back(std::move(program[at]));
  }
  program = std::move(result);
}

}  // namespace gossamer::schedule
