#include "graph/append_rows.h"

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/simplify.h"

namespace gossamer::graph {
namespace {

using ir::Expr;
using ops::Stage;

// select(axes[axis] < old rows, input[axes], what is new).
struct Growth {
  size_t input = 0, axis = 0;
  const ir::Select* joined = nullptr;
};

bool is_own_point(const ir::Load& load, const Stage& stage) {
  for (size_t d = 0; d < load.indices.size(); ++d)
    if (load.indices[d].get() != stage.axes[d].get() && !ir::is_const(stage.extents[d], 1))
      return false;
  return load.indices.size() == stage.axes.size();
}

bool is_growth(const StageGraph& graph, const Stage& stage, Growth& found) {
  const auto* joined = stage.kind == ops::StageKind::compute && !stage.view && stage.side.empty()
                           ? ir::as<ir::Select>(stage.result)
                           : nullptr;
  if (!joined) return false;
  const auto* old = ir::as<ir::Load>(joined->yes);
  const auto* below = ir::as<ir::Binary>(joined->condition);
  if (!old || !below || below->op != ir::BinaryOp::lt || !is_own_point(*old, stage)) return false;
  found.joined = joined;
  while (found.input < graph.inputs.size() && !graph.inputs[found.input].buffer.same(old->buffer))
    ++found.input;
  if (found.input == graph.inputs.size() || graph.inputs[found.input].strings ||
      !graph.inputs[found.input].shape.empty())
    return false;
  while (found.axis < stage.axes.size() && stage.axes[found.axis].get() != below->a.get())
    ++found.axis;
  const auto& shape = old->buffer->shape;
  if (found.axis == shape.size() || ir::as_int(shape[found.axis]) ||
      !ir::prove_equal(shape[found.axis], below->b))
    return false;
  for (size_t d = 0; d < shape.size(); ++d)
    if (d != found.axis && !ir::prove_equal(shape[d], stage.extents[d])) return false;
  bool again = false;
  ir::visit(joined->no, [&](const Expr& e) {
    const auto* load = ir::as<ir::Load>(e);
    again = again || (load && load->buffer.same(old->buffer));
    return true;
  });
  return !again;
}

}  // namespace

void append_rows(StageGraph& graph) {
  for (const ops::Entry& entry : graph.program)
    if (entry.step()) return;
  for (ops::Entry& entry : graph.program) {
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
    const Expr before = past->shape[axis];
    const ir::Var room = ir::var(past->name + ".room");
    graph.dims.push_back(
        {room, static_cast<int>(growth.input), static_cast<int>(axis), whole->shape[axis], output});
    std::vector<Expr> shape = past->shape;
    shape[axis] = room;
    const ir::Buffer state = ir::buffer(past->name, past->dtype, shape);
    const Expr row = stage.axes[axis] + before;
    stage.kind = ops::StageKind::scatter;
    stage.values = {
        ir::simplify(ir::substitute(growth.joined->no, {{stage.axes[axis].get(), row}}))};
    stage.result = {};
    stage.target.assign(stage.axes.begin(), stage.axes.end());
    stage.target[axis] = row;
    stage.extents[axis] = ir::simplify(stage.extents[axis] - before);
    stage.output = state;
    const ir::BufferMap map{{past.get(), state}, {whole.get(), state}};
    for (ops::Entry& other : graph.program) ops::replace_inputs(other, map);
    StageOutput& port = graph.outputs[static_cast<size_t>(output)];
    input.shape = past->shape;
    port.shape = whole->shape;
    input.buffer = port.buffer = state;
  }
}

}  // namespace gossamer::graph
