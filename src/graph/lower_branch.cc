// If: the branch that a known condition takes, or both between steps of the host program.
#include <algorithm>
#include <array>

#include "graph/control_flow.h"
#include "graph/lowering.h"
#include "ir/build.h"
#include "ir/rewrite.h"
#include "ops/states.h"

namespace gossamer::graph {

Result<> Lowering::lower_control(const Node& node, Values& values) {
  if (node.def == control_flow_op("If")) return lower_if(node, values);
  if (node.def == control_flow_op("Loop")) return lower_loop(node, values);
  if (node.def == control_flow_op("SequenceMap")) return lower_sequence_map(node, values);
  return lower_scan(node, values);
}

Result<Lowering::Region> Lowering::lower_region(const Graph& graph, const Values& outer,
                                                const std::vector<Item>& inputs) {
  GS_CHECK(graph.inputs.size() == inputs.size(), "inputs of a region");
  Region region;
  const size_t start = out_.program.size();
  const auto reads = reads_;
  const auto counted = counted_;
  Values inner;
  add_constants(graph, inner);
  for (const Capture& capture : graph.captures) {
    if (!outer[capture.outer]) return fail_at(graph.name, "uses a value before it is made");
    inner[capture.inner] = known(outer[capture.outer]);
  }
  for (size_t i = 0; i < inputs.size(); ++i) inner[graph.inputs[i]] = inputs[i];
  GS_TRY(lower_nodes(graph, inner));
  for (ValueId id : graph.outputs) region.outputs.push_back(known(inner[id]));
  reads_ = reads;  // what a region read is not known outside of it
  counted_ = counted;
  const auto first = out_.program.begin() + static_cast<std::ptrdiff_t>(start);
  region.program.assign(std::make_move_iterator(first),
                        std::make_move_iterator(out_.program.end()));
  out_.program.erase(first, out_.program.end());
  for (const ir::Var& var : ops::variables_of(region.program)) region.variables.insert(var.get());
  return region;
}

void Lowering::offer_regions(const Node& node, const Values& values, ops::Builder& builder) {
  for (size_t i = 0; i < node.regions.size(); ++i) {
    builder.regions.emplace_back();
    if (!node.regions[i]) continue;
    const Graph& graph = *node.regions[i];
    builder.regions.back() = [this, &graph, &values](std::vector<Tensor> inputs) {
      return inline_region(graph, values, inputs);
    };
  }
}

Result<ops::Builder::Inlined> Lowering::inline_region(const Graph& graph, const Values& values,
                                                      const std::vector<Tensor>& inputs) {
  if (graph.inputs.size() != inputs.size()) {
    return fail(cat("its graph \"", graph.name, "\" has ", graph.inputs.size(),
                    " inputs, it is given ", inputs.size()));
  }
  GS_ASSIGN(Region region,
            lower_region(graph, values, std::vector<Item>(inputs.begin(), inputs.end())));
  ops::Builder::Inlined made{std::move(region.program), {}};
  for (Item& output : region.outputs) {
    if (!output.tensor) return fail(cat("its graph \"", graph.name, "\" makes what is no tensor"));
    made.outputs.push_back(std::move(output.tensor));
  }
  return made;
}

bool Lowering::Region::uses_own(const Expr& expr) const {
  bool uses = false;
  ir::visit(expr, [&](const Expr& e) {
    const auto* var = ir::as<ir::VarNode>(e);
    uses = uses || (var && variables.contains(var));
    return !uses;
  });
  return uses;
}

Result<Expr> Lowering::scalar_value(const Item& item, const std::string& name) {
  if (!item.tensor) return fail(cat(name, " is no tensor"));
  const Tensor now = known(item.tensor);
  if (now.host && now.host->size() == 1) return (*now.host)[0];
  if (!ir::is_int(now.dtype()) && now.dtype() != ir::DType::boolean)
    return fail(cat(name, " is no integer or boolean"));
  for (const Expr& extent : now.shape()) {
    if (!ir::is_const(ir::simplify(extent), 1)) return fail(cat(name, " is no single number"));
  }
  const ir::Var var = ir::var(now.buffer->name);
  out_.program.push_back(ops::read_step(now.buffer, {var}));
  reads_[now.buffer.get()] = {now.buffer, {Expr(var)}};
  return Expr(var);
}

void Lowering::add_stage(ops::Stage stage, const std::string& origin) {
  stage.origin = origin;
  out_.program.emplace_back(std::move(stage));
}

Tensor Lowering::add_compute(const std::string& name, ir::DType dtype, std::vector<Expr> shape,
                             const std::function<Expr(const std::vector<Expr>&)>& body) {
  ops::Stage stage;
  stage.name = name;
  stage.extents = shape;
  std::vector<Expr> point;
  for (size_t i = 0; i < shape.size(); ++i) {
    stage.axes.push_back(ir::var(cat("i", i)));
    point.push_back(stage.axes.back());
  }
  stage.result = body(point);
  stage.output = ir::buffer(name, dtype, std::move(shape));
  Tensor tensor{stage.output, std::nullopt};
  out_.program.push_back(std::move(stage));
  return tensor;
}

Tensor Lowering::add_host_tensor(const std::string& name, const ir::Buffer& like,
                                 std::vector<Expr> elements) {
  Tensor tensor =
      add_compute(name, like->dtype, like->shape, [&](const std::vector<Expr>& point) -> Expr {
        Expr linear = ir::index(0);
        for (size_t i = 0; i < point.size(); ++i) linear = linear * like->shape[i] + point[i];
        const auto element = [&](size_t i) -> Expr {
          if (like->dtype == ir::DType::boolean) return elements[i] != 0.0;
          return ir::cast(like->dtype, elements[i]);
        };
        if (elements.empty()) return ir::zero(like->dtype);
        Expr chain = element(elements.size() - 1);
        for (size_t i = elements.size() - 1; i-- > 0;)
          chain = ir::select(linear == static_cast<double>(i), element(i), chain);
        return chain;
      });
  tensor.host = std::move(elements);
  return tensor;
}

namespace {

// "a sequence of 3 elements"
std::string text_of(const Item& item) {
  if (item.tensor) return "a tensor";
  if (!item.is_sequence()) return "nothing";
  return cat("a sequence of ", item.elements.size(), " elements");
}

}  // namespace

// The outputs of two branches while they become one.
struct Lowering::Merge {
  Merge(const Node& of, Expr condition_of, const std::vector<Region>& both)
      : node(of), condition(std::move(condition_of)), branches(both) {}
  const Node& node;
  Expr condition;
  const std::vector<Region>& branches;
  // A dimension that the branches do not share is a variable that both set.
  std::vector<ir::Var> dims;
  std::array<std::vector<Expr>, 2> extents;
  std::array<ops::Program, 2> copies;
};

Result<Tensor> Lowering::merge_branches(Merge& merge, const std::string& name, const Tensor& a,
                                        const Tensor& b) {
  if (a.dtype() != b.dtype() || a.rank() != b.rank()) {
    return fail_at(cat("[If] \"", merge.node.name, "\""),
                   cat("makes \"", name, "\" of another type or rank in each branch, so its ",
                       "condition must be known when compiling"),
                   "only the extents of an output may depend on the branch");
  }
  if (a.buffer.same(b.buffer)) return a;
  std::vector<Expr> shape;
  for (size_t d = 0; d < a.shape().size(); ++d) {
    const Expr &x = a.shape()[d], &y = b.shape()[d];
    if (ir::prove_equal(x, y, bounds_) && !merge.branches[0].uses_own(x)) {
      shape.push_back(x);
      continue;
    }
    merge.dims.push_back(ir::var(cat(name, ".dim", d)));
    merge.extents[0].push_back(x);
    merge.extents[1].push_back(y);
    shape.push_back(merge.dims.back());
  }
  const std::string merged_name = cat(merge.node.name, "/", name);
  Tensor merged{ir::buffer(merged_name, a.dtype(), shape), std::nullopt};
  const auto copy = [&](const ir::Buffer& from, const ir::Buffer& to, size_t k) {
    ops::Stage stage = ops::copy_stage(cat(name, ".branch"), from, to);
    stage.origin = cat("If \"", merge.node.name, "\"");
    merge.copies[k].emplace_back(std::move(stage));
  };
  if (a.dtype() == ir::DType::string) {
    merged.lengths = ir::buffer(merged_name + ".lengths", ir::DType::i32, shape);
    merge.dims.push_back(ir::var(cat(name, ".width")));
    merge.extents[0].push_back(a.width());
    merge.extents[1].push_back(b.width());
    shape.push_back(merge.dims.back());
    merged.bytes = ir::buffer(merged_name, ir::DType::u8, shape);
  }
  for (size_t k = 0; k < 2; ++k) {
    const Tensor& from = k == 0 ? a : b;
    if (merged.bytes) {
      copy(from.bytes, merged.bytes, k);
      copy(from.lengths, merged.lengths, k);
    } else {
      copy(from.buffer, merged.buffer, k);
    }
  }
  if (a.host && b.host && a.host->size() == b.host->size()) {
    std::vector<Expr> elements;
    for (size_t e = 0; e < a.host->size(); ++e) {
      const Expr &x = (*a.host)[e], &y = (*b.host)[e];
      if (merge.branches[0].uses_own(x) || merge.branches[1].uses_own(y)) break;
      elements.push_back(ir::select(merge.condition != 0.0, x, y));
    }
    if (elements.size() == a.host->size()) merged.host = std::move(elements);
  }
  return merged;
}

Result<> Lowering::lower_if(const Node& node, Values& values) {
  const std::string place = cat("[If] \"", node.name, "\"");
  if (node.inputs.size() != 1 || node.inputs[0] == no_value || node.regions.size() != 2) {
    return fail_at(place, "needs one condition and two branches");
  }
  for (const auto& region : node.regions) {
    if (!region->inputs.empty() || region->outputs.size() < node.outputs.size()) {
      return fail_at(place, "has a branch with inputs, or with too few outputs");
    }
  }
  auto condition = scalar_value(values[node.inputs[0]], "the condition");
  if (!condition) return fail_at(place, condition.error().message);
  if (const auto known_now = ir::as_int(ir::simplify(*condition))) {
    GS_ASSIGN(Region taken, lower_region(*node.regions[*known_now ? 0 : 1], values, {}));
    std::ranges::move(taken.program, std::back_inserter(out_.program));
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] != no_value) values[node.outputs[i]] = taken.outputs[i];
    }
    return {};
  }
  std::vector<Region> branches;
  for (const auto& graph : node.regions) {
    auto branch = lower_region(*graph, values, {});
    if (!branch) {
      // It may be a branch for inputs of another form, which is never taken.
      Diagnostic error = branch.error();
      error.message += cat(", in a branch of ", place,
                           "; if it is never taken, the condition must be known when compiling");
      return std::unexpected(std::move(error));
    }
    branches.push_back(*std::move(branch));
  }

  Merge merge(node, *condition, branches);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == no_value) continue;
    const Item &a = branches[0].outputs[i], &b = branches[1].outputs[i];
    const std::string name = node.regions[0]->values[node.regions[0]->outputs[i]].name;
    if (a.kind != b.kind || a.elements.size() != b.elements.size()) {
      return fail_at(place,
                     cat("makes output ", i, " ", text_of(a), " in one branch and ", text_of(b),
                         " in the other, so its condition must be known when compiling"),
                     "make the condition a constant, or give both branches one form");
    }
    Item made = a;
    if (a.tensor) {
      GS_ASSIGN(made.tensor, merge_branches(merge, name, a.tensor, b.tensor));
    }
    for (size_t k = 0; k < a.elements.size(); ++k) {
      GS_ASSIGN(made.elements[k],
                merge_branches(merge, element_name(name, k), a.elements[k], b.elements[k]));
    }
    values[node.outputs[i]] = std::move(made);
  }
  for (size_t k = 0; k < 2; ++k) {
    out_.program.push_back(k == 0 ? ops::branch_step(*condition != 0.0) : ops::otherwise_step());
    std::ranges::move(branches[k].program, std::back_inserter(out_.program));
    if (!merge.dims.empty()) out_.program.push_back(ops::set_step(merge.dims, merge.extents[k]));
    std::ranges::move(merge.copies[k], std::back_inserter(out_.program));
  }
  out_.program.push_back(ops::end_step());
  return {};
}

}  // namespace gossamer::graph
