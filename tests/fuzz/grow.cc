#include "fuzz/grow.h"

#include <algorithm>
#include <cmath>

#include "fuzz/mutate.h"
#include "interp/expr_eval.h"
#include "ir/scalar.h"

namespace gossamer::fuzz {
namespace {

using ir::DType;
using ops::OpDef;
using ops::TensorData;

constexpr int64_t max_leaf = 20000;  // elements

class Grower {
 public:
  Grower(uint64_t seed, const GrowOptions& options) : random_(seed), options_(options) {
    empties_ = random_.chance(0.1);
    grown_.recipe.seed = seed;
    for (const OpDef& def : ops::builtin_catalog().entries()) {
      if (def.cases().empty() || has_lists(def)) continue;
      if (options.ops.empty() || options.ops.contains(def.name)) entries_.push_back(&def);
      if (is_elementwise(def)) easy_.push_back(&def);
    }
  }

  Grown grow() {
    const int64_t wanted = 1 + random_.below(options_.nodes);
    for (int attempt = 0; attempt < 12 * wanted; ++attempt) {
      if (std::ssize(grown_.recipe.steps) >= wanted) break;
      if (!add_call()) ++grown_.rejected;
    }
    choose_outputs();
    choose_dims();
    return std::move(grown_);
  }

 private:
  // Graphs are of tensors alone.
  static bool has_lists(const OpDef& def) {
    static const std::set<std::string_view> makers{"SequenceConstruct", "SequenceEmpty",
                                                   "SplitToSequence", "Optional"};
    return makers.contains(def.name) || std::ranges::any_of(def.inputs, [](const auto& input) {
             return input.form != ops::InputDef::tensor;
           });
  }

  std::string fresh(const char* prefix) { return cat(prefix, ++names_); }

  // Adds a step and its leaves; keeps nothing if the interpreter refuses.
  bool add(Step step, const std::vector<Leaf>& leaves) {
    Recipe& recipe = grown_.recipe;
    const size_t before = recipe.leaves.size();
    recipe.leaves.insert(recipe.leaves.end(), leaves.begin(), leaves.end());
    for (const Leaf& leaf : leaves) grown_.values[leaf.name] = {leaf.data, leaf.data};
    const auto undo = [&] {
      recipe.leaves.resize(before);
      for (const Leaf& leaf : leaves) grown_.values.erase(leaf.name);
      for (const std::string& name : step.outputs) grown_.values.erase(name);
      return false;
    };
    if (!evaluate(step, recipe, grown_.values)) return undo();
    for (const std::string& name : step.outputs) {
      const DType dtype = grown_.values.at(name).data.dtype;
      if (dtype > DType::boolean) return undo();
    }
    for (const std::string& name : step.outputs) made_.push_back(name);
    recipe.steps.push_back(std::move(step));
    return true;
  }

  bool in_range(const TensorData& data, const Call& call) const {
    if (call.test.low == -2 && call.test.high == 2) return true;
    for (int64_t at = 0; at < data.element_count(); ++at) {
      const double x = interp::element(data, at).as_double();
      if (!(x >= call.test.low && x <= call.test.high)) return false;
    }
    return true;
  }

  // Cases are as large as the interpreter is quick with.
  static bool is_small(const Call& call) {
    int64_t had = 1, has = 1;
    for (const TensorData& data : call.test.inputs) had = std::max(had, data.element_count());
    for (const std::vector<int64_t>& shape : call.test.shapes)
      had = std::max(had, TensorData{ir::DType::u8, shape, {}, {}}.element_count());
    for (const Operand& operand : call.operands) has = std::max(has, operand.data.element_count());
    return has <= std::max<int64_t>(4 * had, 1024);
  }

  // Another tensor's name for an operand; makes the call's shapes fit it where they can.
  std::string chained(Call& call, size_t at) {
    if (grown_.values.empty() || random_.chance(at == 0 ? 0.1 : 0.4)) return {};
    if (at > 0 && reads_at_places(*call.def)) return {};
    std::vector<std::string> names = made_;
    for (const Leaf& leaf : grown_.recipe.leaves)
      if (random_.chance(0.3)) names.push_back(leaf.name);
    if (names.empty()) return {};
    std::string name = !made_.empty() && random_.chance(0.5) ? made_.back() : random_.of(names);
    Operand& operand = call.operands[at];
    const ops::InputDef& input = call.def->inputs[std::min(at, call.def->inputs.size() - 1)];
    const DType had = grown_.values.at(name).data.dtype;
    if (had != operand.data.dtype) {
      if ((input.types & ops::only(had)) && random_.chance(0.7)) {
        retype(call, operand.data.dtype, had);
      } else {
        name = cast(name, operand.data.dtype);
        if (name.empty()) return {};
      }
    }
    if (!in_range(grown_.values.at(name).data, call)) return {};
    std::vector<int64_t> have = grown_.values.at(name).data.shape;
    std::vector<int64_t>& want = operand.data.shape;
    if (have == want) return name;
    if (is_elementwise(*call.def)) {
      want = have;
      return name;
    }
    if (TensorData{had, want, {}, {}}.element_count() ==
        grown_.values.at(name).data.element_count())
      return reshape(name, want);
    if (reads_at_places(*call.def)) return {};
    if (have.size() != want.size()) {
      // Another rank: extents of 1 in front, or the first ones joined.
      std::vector<int64_t> shape = have;
      while (shape.size() < want.size()) shape.insert(shape.begin(), 1);
      while (shape.size() > want.size() && shape.size() > 1) {
        shape[1] *= shape[0];
        shape.erase(shape.begin());
      }
      if (shape.size() != want.size()) return {};
      name = reshape(name, shape);
      if (name.empty()) return {};
      have = shape;
    }
    const std::vector<int64_t> old = want;
    for (size_t axis = 0; axis < old.size(); ++axis)
      if (old[axis] != have[axis]) replace_extent(call, old[axis], have[axis]);
    return want == have ? name : std::string();
  }

  static void retype(Call& call, DType from, DType to) {
    for (size_t at = 0; at < call.operands.size(); ++at) {
      Operand& operand = call.operands[at];
      const ops::InputDef& input = call.def->inputs[std::min(at, call.def->inputs.size() - 1)];
      if (!operand.absent && !operand.given && operand.data.dtype == from &&
          (input.types & ops::only(to)))
        operand.data.dtype = to;
    }
  }

  std::string cast(const std::string& name, DType dtype) {
    int64_t code = 1;
    while (ops::dtype_of_onnx(code) != dtype) ++code;
    const std::string made = fresh("t");
    Step step{ops::builtin_catalog().find("", "Cast"), {{"to", code}}, {name}, {made}};
    return add(std::move(step), {}) ? made : std::string();
  }

  std::string reshape(const std::string& name, const std::vector<int64_t>& shape) {
    const std::string made = fresh("t"), extents = fresh("c");
    Step step{ops::builtin_catalog().find("", "Reshape"),
              {{"allowzero", int64_t{1}}},
              {name, extents},
              {made}};
    const TensorData data = ops::int64s({std::ssize(shape)}, shape);
    return add(std::move(step), {{extents, data, true}}) ? made : std::string();
  }

  bool add_call() {
    const bool easy = options_.ops.empty() && random_.chance(0.35);
    const OpDef& def = *random_.of(easy ? easy_ : entries_);
    auto call = call_of(def, random_.of(def.cases()), random_);
    if (!call) return false;
    call->empties = empties_;
    if (random_.chance(0.75) && !reads_at_places(def)) mutate_shapes(*call, random_);
    if (random_.chance(0.5)) mutate_attributes(*call, random_);
    Step step{&def, call->attributes, std::vector<std::string>(call->operands.size()), {}};
    for (size_t at = 0; at < call->operands.size(); ++at)
      if (!call->operands[at].absent && !call->operands[at].given)
        step.inputs[at] = chained(*call, at);
    for (const Operand& operand : call->operands)
      if (!operand.absent && operand.data.element_count() > max_leaf) return false;
    if (!is_small(*call)) return false;
    std::vector<Leaf> leaves;
    for (size_t at = 0; at < call->operands.size(); ++at) {
      const Operand& operand = call->operands[at];
      if (operand.absent || !step.inputs[at].empty()) continue;
      step.inputs[at] = fresh(operand.given ? "c" : "x");
      const bool constant = random_.chance(operand.given ? 0.9 : 0.3);
      leaves.push_back({step.inputs[at],
                        operand.given
                            ? operand.data
                            : fill(operand.data.dtype, operand.data.shape, *call, random_),
                        constant});
    }
    for (int i = 0; i < call->outputs; ++i) step.outputs.push_back(fresh("t"));
    return add(std::move(step), leaves);
  }

  void choose_outputs() {
    Recipe& recipe = grown_.recipe;
    for (const std::string& name : made_) {
      const bool used = std::ranges::any_of(recipe.steps, [&](const Step& step) {
        return std::ranges::find(step.inputs, name) != step.inputs.end();
      });
      if (!used || random_.chance(0.15)) recipe.outputs.push_back(name);
    }
    recipe.prune();
  }

  // Some extents of inputs become dimensions that only a run knows.
  void choose_dims() {
    if (!random_.chance(0.35)) return;
    std::map<int64_t, bool> named;
    const bool shared = random_.chance(0.7);
    for (Leaf& leaf : grown_.recipe.leaves) {
      if (leaf.constant || leaf.data.shape.empty()) continue;
      leaf.dims.resize(leaf.data.shape.size());
      for (size_t axis = 0; axis < leaf.dims.size(); ++axis) {
        const int64_t extent = leaf.data.shape[axis];
        if (extent == 0) continue;  // a dimension is at least 1: lower/lower.cc
        if (!named.contains(extent)) named[extent] = random_.chance(extent == 1 ? 0.1 : 0.5);
        if (shared ? named[extent] : random_.chance(extent == 1 ? 0.05 : 0.25))
          leaf.dims[axis] = shared ? cat("n", extent) : cat(leaf.name, "_", axis);
      }
    }
  }

  Random random_;
  const GrowOptions& options_;
  std::vector<const OpDef*> entries_, easy_;
  std::vector<std::string> made_;
  Grown grown_;
  int names_ = 0;
  bool empties_ = false;
};

}  // namespace

Grown grow(uint64_t seed, const GrowOptions& options) { return Grower(seed, options).grow(); }

}  // namespace gossamer::fuzz
