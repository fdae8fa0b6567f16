#include "lower/lower_if.h"

#include <array>
#include <iterator>

#include "ir/build.h"
#include "lower/control_tensors.h"
#include "stages/state_update.h"

namespace gossamer::lower {
namespace {

using graph::no_value;
using graph::Node;

// "a sequence of 3 elements"
std::string text_of(const Item& item) {
  if (item.tensor) return "a tensor";
  if (!item.is_sequence()) return "nothing";
  if (item.packed) return "a sequence of a length that the run decides";
  return cat("a sequence of ", item.elements.size(), " elements");
}

// The outputs of two branches while they become one.
class Merge {
 public:
  Merge(const Node& node, Expr condition, const std::vector<Region>& branches,
        const ir::Bounds& bounds)
      : node_(node), condition_(std::move(condition)), branches_(branches), bounds_(bounds) {}

  Result<Item> merge(const std::string& name, const Item& a, const Item& b);
  // What branch `k` ends with, once all is merged.
  stages::Program take_end(size_t k);

 private:
  Result<Tensor> merge(const std::string& name, const Tensor& a, const Tensor& b);
  std::vector<Expr> merge_shapes(const std::string& name, const Tensor& a, const Tensor& b);
  std::optional<std::vector<Expr>> merge_elements(const Tensor& a, const Tensor& b) const;
  Expr add_dim(const std::string& name, const Expr& a, const Expr& b);
  void copy(const std::string& name, const ir::Buffer& from, const ir::Buffer& to, size_t k);

  const Node& node_;
  Expr condition_;
  const std::vector<Region>& branches_;
  const ir::Bounds& bounds_;
  // A dimension that the branches do not share is a variable that both set.
  std::vector<ir::Var> dims_;
  std::array<std::vector<Expr>, 2> extents_;
  std::array<stages::Program, 2> copies_;
};

Result<Item> Merge::merge(const std::string& name, const Item& a, const Item& b) {
  Item made = a;
  if (a.tensor) {
    GS_ASSIGN(made.tensor, merge(name, a.tensor, b.tensor));
  }
  for (size_t k = 0; k < a.elements.size(); ++k) {
    GS_ASSIGN(made.elements[k], merge(graph::element_name(name, k), a.elements[k], b.elements[k]));
  }
  if (!a.packed) return made;
  GS_ASSIGN(made.packed->data, merge(name, a.packed->data, b.packed->data));
  if (a.packed->sizes) {
    GS_ASSIGN(made.packed->sizes, merge(name + ".sizes", a.packed->sizes, b.packed->sizes));
  }
  return made;
}

Result<Tensor> Merge::merge(const std::string& name, const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.rank() != b.rank()) {
    return fail_at(cat("[If] \"", node_.name, "\""),
                   cat("makes \"", name, "\" of another type or rank in each branch, so its ",
                       "condition must be known when compiling"),
                   "only the extents of an output may depend on the branch");
  }
  if (a.buffer.same(b.buffer)) return a;
  std::vector<Expr> shape = merge_shapes(name, a, b);
  const std::string merged_name = cat(node_.name, "/", name);
  Tensor merged{ir::buffer(merged_name, a.dtype(), shape), std::nullopt};
  if (a.dtype() == ir::DType::string) {
    merged.lengths = ir::buffer(merged_name + ".lengths", ir::DType::i32, shape);
    shape.push_back(add_dim(cat(name, ".width"), a.width(), b.width()));
    merged.bytes = ir::buffer(merged_name, ir::DType::u8, shape);
  }
  for (size_t k = 0; k < 2; ++k) {
    const Tensor& from = k == 0 ? a : b;
    if (merged.bytes) {
      copy(name, from.bytes, merged.bytes, k);
      copy(name, from.lengths, merged.lengths, k);
    } else {
      copy(name, from.buffer, merged.buffer, k);
    }
  }
  merged.host = merge_elements(a, b);
  return merged;
}

std::vector<Expr> Merge::merge_shapes(const std::string& name, const Tensor& a, const Tensor& b) {
  std::vector<Expr> shape;
  for (size_t d = 0; d < a.shape().size(); ++d) {
    const Expr &x = a.shape()[d], &y = b.shape()[d];
    const bool shared = ir::prove_equal(x, y, bounds_) && !branches_[0].uses_own(x);
    shape.push_back(shared ? x : add_dim(cat(name, ".dim", d), x, y));
  }
  return shape;
}

// None where they are not known of both, or only inside of a branch.
std::optional<std::vector<Expr>> Merge::merge_elements(const Tensor& a, const Tensor& b) const {
  if (!a.host || !b.host || a.host->size() != b.host->size()) return std::nullopt;
  std::vector<Expr> elements;
  for (size_t e = 0; e < a.host->size(); ++e) {
    const Expr &x = (*a.host)[e], &y = (*b.host)[e];
    if (branches_[0].uses_own(x) || branches_[1].uses_own(y)) return std::nullopt;
    elements.push_back(ir::select(condition_ != 0.0, x, y));
  }
  return elements;
}

Expr Merge::add_dim(const std::string& name, const Expr& a, const Expr& b) {
  dims_.push_back(ir::var(name));
  extents_[0].push_back(a);
  extents_[1].push_back(b);
  return dims_.back();
}

void Merge::copy(const std::string& name, const ir::Buffer& from, const ir::Buffer& to, size_t k) {
  stages::Stage stage = stages::copy_stage(cat(name, ".branch"), from, to);
  stage.origin = cat("If \"", node_.name, "\"");
  copies_[k].emplace_back(std::move(stage));
}

stages::Program Merge::take_end(size_t k) {
  stages::Program end = std::move(copies_[k]);
  if (!dims_.empty()) end.insert(end.begin(), stages::set_step(dims_, extents_[k]));
  return end;
}

Result<std::vector<Region>> lower_branches(const Node& node, const Expr& condition,
                                           const Values& values, GraphLowering& lowering) {
  std::vector<Region> branches;
  std::vector<Expr>& skipped = lowering.stages().skipped;
  for (const auto& graph : node.regions) {
    skipped.push_back(branches.empty() ? condition == 0.0 : condition != 0.0);
    auto branch = lowering.lower_region(*graph, values, {});
    skipped.pop_back();
    if (!branch) {
      // It may be a branch for inputs of another form, which is never taken.
      Diagnostic error = branch.error();
      error.message += cat(", in a branch of [If] \"", node.name, "\"",
                           "; if it is never taken, the condition must be known when compiling");
      return std::unexpected(std::move(error));
    }
    branches.push_back(*std::move(branch));
  }
  return branches;
}

// Sequences that differ in length, or whose lengths the run decides, get one form.
Result<> pack_outputs(const Node& node, size_t i, std::vector<Region>& branches,
                      GraphLowering& lowering) {
  StageBuilder& stages = lowering.stages();
  Item &a = branches[0].outputs[i], &b = branches[1].outputs[i];
  if (!a.is_sequence() || !b.is_sequence()) return {};
  if (!a.packed && !b.packed && a.elements.size() == b.elements.size()) return {};
  const std::string place = cat("[If] \"", node.name, "\"");
  std::optional<ops::SequenceForm> common;
  for (Region& branch : branches) {
    auto form = ops::form_of(branch.outputs[i], stages.bounds);
    if (!form) return fail_at(place, form.error().message, form.error().hint);
    if (!*form) continue;
    for (Expr& extent : (*form)->shape) {
      if (extent.get() && branch.uses_own(extent)) extent = {};
    }
    auto joined = common ? ops::common_form(*common, **form, stages.bounds)
                         : Result<ops::SequenceForm>(**form);
    if (!joined) return fail_at(place, joined.error().message, joined.error().hint);
    common = *joined;
  }
  for (Region& branch : branches) {
    const size_t start = stages.program().size();
    GS_ASSIGN(branch.outputs[i],
              lowering.pack_sequence(cat(node.name, "/", i), branch.outputs[i], *common));
    stages::Program packing = stages.cut(start);
    branch.program.insert(branch.program.end(), std::make_move_iterator(packing.begin()),
                          std::make_move_iterator(packing.end()));
  }
  return {};
}

}  // namespace

Result<> lower_if(const Node& node, Values& values, GraphLowering& lowering) {
  const std::string place = cat("[If] \"", node.name, "\"");
  if (node.inputs.size() != 1 || node.inputs[0] == no_value || node.regions.size() != 2) {
    return fail_at(place, "needs one condition and two branches");
  }
  for (const auto& region : node.regions) {
    if (!region->inputs.empty() || region->outputs.size() < node.outputs.size()) {
      return fail_at(place, "has a branch with inputs, or with too few outputs");
    }
  }
  StageBuilder& stages = lowering.stages();
  auto condition = scalar_value(stages, values[node.inputs[0]], "the condition");
  if (!condition) return fail_at(place, condition.error().message);
  if (const auto known_now = ir::as_int(ir::simplify(*condition))) {
    GS_ASSIGN(const std::vector<Item> taken,
              lowering.lower_inline(*node.regions[*known_now ? 0 : 1], values, {}));
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] != no_value) values[node.outputs[i]] = taken[i];
    }
    return {};
  }
  GS_ASSIGN(std::vector<Region> branches, lower_branches(node, *condition, values, lowering));
  Merge merge(node, *condition, branches, stages.bounds);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == no_value) continue;
    GS_TRY(pack_outputs(node, i, branches, lowering));
    const Item &a = branches[0].outputs[i], &b = branches[1].outputs[i];
    if (a.kind != b.kind || a.elements.size() != b.elements.size()) {
      return fail_at(place,
                     cat("makes output ", i, " ", text_of(a), " in one branch and ", text_of(b),
                         " in the other, so its condition must be known when compiling"),
                     "make the condition a constant, or give both branches one form");
    }
    const std::string& name = node.regions[0]->values[node.regions[0]->outputs[i]].name;
    GS_ASSIGN(values[node.outputs[i]], merge.merge(name, a, b));
  }
  for (size_t k = 0; k < 2; ++k) {
    stages.append(k == 0 ? stages::branch_step(*condition != 0.0) : stages::otherwise_step());
    stages.append(std::move(branches[k].program));
    stages.append(merge.take_end(k));
  }
  stages.append(stages::end_step());
  return {};
}

}  // namespace gossamer::lower
