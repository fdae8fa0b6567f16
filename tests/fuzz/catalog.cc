#include "fuzz/catalog.h"

#include "ops/test_case.h"

namespace gossamer::fuzz {
namespace {

using ops::Case;
using ops::Item;
using ops::OpDef;
using ops::TensorData;

const OpDef* operator_of(const char* name) { return ops::builtin_catalog().find("", name); }

// The first `length` names become one sequence.
void join(Recipe& recipe, std::vector<std::string>& names, size_t length, ir::DType dtype) {
  const auto end = names.begin() + static_cast<ptrdiff_t>(length);
  Step step{operator_of(length > 0 ? "SequenceConstruct" : "SequenceEmpty"), {}, {}, {"sequence"}};
  step.inputs.assign(names.begin(), end);
  if (length == 0) step.attributes["dtype"] = int64_t{onnx_code(dtype)};
  names.erase(names.begin(), end);
  names.insert(names.begin(), "sequence");
  recipe.steps.push_back(std::move(step));
}

// What of output `name` can be compared: its tensor, or the tensors of its sequence and how many
// they are, or whether it holds anything.
void take_apart(Recipe& recipe, const std::string& name, const Item* item) {
  const auto step = [&](const char* op, std::vector<std::string> inputs, std::string output) {
    recipe.steps.push_back({operator_of(op), {}, std::move(inputs), {output}});
    recipe.outputs.push_back(std::move(output));
  };
  if (!item || item->kind == Item::Kind::tensor) {
    recipe.outputs.push_back(name);
  } else if (!item->is_sequence()) {
    step("OptionalHasElement", {name}, name + "_has");
  } else {
    step("SequenceLength", {name}, name + "_length");
    for (size_t i = 0; i < item->elements.size(); ++i) {
      const std::string place = cat(name, "_place", i);
      recipe.leaves.push_back({place, ops::int64s({}, {static_cast<int64_t>(i)}), true});
      step("SequenceAt", {name, place}, cat(name, "_", i));
    }
  }
}

}  // namespace

Recipe recipe_of(const OpDef& def, const Case& test) {
  Recipe recipe;
  const std::vector<TensorData> inputs = ops::case_inputs(def, test);
  std::vector<std::string> names;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool absent = inputs[i].shape == std::vector<int64_t>{-1};
    names.push_back(absent ? "" : cat("x", i));
    if (!absent) recipe.leaves.push_back({names.back(), inputs[i], ops::is_given(test, i)});
  }
  if (test.length >= 0) join(recipe, names, static_cast<size_t>(test.length), test.dtype);
  const int count = ops::output_count_of(def, test);
  Step step{&def, test.attributes, std::move(names), {}};
  for (int i = 0; i < count; ++i) step.outputs.push_back(cat("y", i));
  recipe.steps.push_back(step);
  const ops::DefinedCase made = ops::define_case(def, test, inputs, count);
  for (int i = 0; i < count; ++i) {
    const auto item = made.builder->items.find(i);
    take_apart(recipe, step.outputs[static_cast<size_t>(i)],
               item == made.builder->items.end() ? nullptr : &item->second);
  }
  return recipe;
}

}  // namespace gossamer::fuzz
