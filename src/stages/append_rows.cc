#include "stages/append_rows.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"

namespace gossamer::stages {
namespace {

using ir::Expr;

// New rows of an input along an axis.
struct Growth {
  size_t input = 0, axis = 0;
  Expr fresh, first, count;  // as Stage's
};

bool is_own_point(const ir::Load& load, const Stage& stage) {
  for (size_t d = 0; d < load.indices.size(); ++d)
    if (load.indices[d].get() != stage.axes[d].get() && !ir::is_const(stage.extents[d], 1))
      return false;
  return load.indices.size() == stage.axes.size();
}

// Of a stage that says so, or select(axes[axis] < old rows, input[axes], what is new).
bool is_growth(const StageGraph& graph, const Stage& stage, Growth& found) {
  const auto* joined = stage.kind == StageKind::compute && !stage.view && stage.side.empty()
                           ? ir::as<ir::Select>(stage.result)
                           : nullptr;
  if (!joined) return false;
  const auto* old = ir::as<ir::Load>(joined->yes);
  const auto* below = ir::as<ir::Binary>(joined->condition);
  if (!old || !below || below->op != ir::BinaryOp::lt || !is_own_point(*old, stage)) return false;
  while (found.input < graph.inputs.size() && !graph.inputs[found.input].buffer.same(old->buffer))
    ++found.input;
  if (found.input == graph.inputs.size() || graph.inputs[found.input].strings ||
      !graph.inputs[found.input].shape.empty())
    return false;
  while (found.axis < stage.axes.size() && stage.axes[found.axis].get() != below->a.get())
    ++found.axis;
  const auto& shape = old->buffer->shape;
  if (found.axis == shape.size() || ir::as_int(shape[found.axis])) return false;
  if (stage.fresh) {
    found.fresh = stage.fresh;
    found.first = stage.first;
    found.count = stage.count;
  } else {
    found.first = shape[found.axis];
    if (!ir::prove_equal(found.first, below->b)) return false;
    const ir::Var& row = stage.axes[found.axis];
    found.fresh = ir::simplify(ir::substitute(joined->no, {{row.get(), row + found.first}}));
    found.count = ir::simplify(stage.extents[found.axis] - found.first);
  }
  for (size_t d = 0; d < shape.size(); ++d)
    if (d != found.axis && !ir::prove_equal(shape[d], stage.extents[d])) return false;
  bool again = false;
  ir::visit(found.fresh, [&](const Expr& e) {
    const auto* load = ir::as<ir::Load>(e);
    again = again || (load && load->buffer.same(old->buffer));
    return true;
  });
  return !again;
}

// What only the new rows read, each element once, is computed where they are written (keys turned
// by their positions).
void inline_producers(const StageGraph& graph, Stage& rows) {
  const auto product = [](const std::vector<Expr>& extents) {
    Expr product = ir::index(1);
    for (const Expr& extent : extents) product = product * extent;
    return product;
  };
  for (const ir::Buffer& input : inputs_of(rows)) {
    const Stage* made = nullptr;
    int readers = 0;
    for (const Entry& entry : graph.program) {
      if (entry.stage() && entry.output().same(input)) made = entry.stage();
      readers += static_cast<int>(std::ranges::count_if(
          entry.inputs(), [&](const ir::Buffer& b) { return b.same(input); }));
    }
    for (const StageOutput& output : graph.outputs) readers += output.buffer.same(input);
    if (!made || made->kind != StageKind::compute || !made->side.empty() || readers != 1 ||
        !ir::prove_equal(product(made->extents), product(rows.extents)))
      continue;
    ir::Rewriter rewriter;
    rewriter.expr = [&](const Expr& e) -> Expr {
      const auto* load = ir::as<ir::Load>(e);
      if (!load || !load->buffer.same(input)) return {};
      ir::VarMap map;
      for (size_t d = 0; d < made->axes.size(); ++d) map[made->axes[d].get()] = load->indices[d];
      return ir::substitute(made->result, map);
    };
    Expr& value = rows.values[0];
    value = ir::simplify(ir::rewrite(value, rewriter), bounds_of(rows));
  }
}

}  // namespace

void append_rows(StageGraph& graph, bool inline_new) {
  const bool steps = std::ranges::any_of(
      graph.program, [](const Entry& entry) { return entry.step() != nullptr; });
  if (steps) return;
  for (Entry& entry : graph.program) {
    Stage& stage = *entry.stage();
    const ir::Buffer whole = stage.output;
    Growth growth;
    int output = -1, ports = 0;
    for (size_t at = 0; at < graph.outputs.size(); ++at)
      if (graph.outputs[at].buffer.same(whole)) output = static_cast<int>(at), ++ports;
    if (ports != 1 || !is_growth(graph, stage, growth)) continue;
    StageInput& input = graph.inputs[growth.input];
    const ir::Buffer past = input.buffer;
    for (const StageOutput& other : graph.outputs) ports += other.buffer.same(past);
    if (ports != 1) continue;
    const size_t axis = growth.axis;
    const ir::Var room = ir::var(past->name + ".room");
    graph.dims.push_back(
        {room, static_cast<int>(growth.input), static_cast<int>(axis), whole->shape[axis], output});
    std::vector<Expr> shape = past->shape;
    shape[axis] = room;
    const ir::Buffer state = ir::buffer(past->name, past->dtype, shape);
    stage.kind = StageKind::scatter;
    stage.values = {growth.fresh};
    stage.result = stage.fresh = stage.first = stage.count = {};
    stage.along = 0;
    stage.target.assign(stage.axes.begin(), stage.axes.end());
    stage.target[axis] = stage.axes[axis] + growth.first;
    stage.extents[axis] = growth.count;
    stage.output = state;
    if (inline_new) inline_producers(graph, stage);
    const ir::BufferMap map{{past.get(), state}, {whole.get(), state}};
    for (Entry& other : graph.program) replace_inputs(other, map);
    StageOutput& port = graph.outputs[static_cast<size_t>(output)];
    input.shape = past->shape;
    port.shape = whole->shape;
    input.buffer = port.buffer = state;
  }
}

void copy_rows(StageGraph& graph) {
  for (Entry& entry : graph.program)
    if (Stage* stage = entry.stage(); stage && stage->fresh) {
      stage->fresh = stage->first = stage->count = {};
      stage->along = 0;
    }
}

}  // namespace gossamer::stages
