#include "fuzz/shrink.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "interp/expr_eval.h"

namespace gossamer::fuzz {
namespace {

using ops::TensorData;

// The corner of a tensor that a smaller shape keeps.
TensorData corner(const TensorData& data, const std::vector<int64_t>& shape) {
  TensorData result{data.dtype, shape, {}, {}};
  const auto size = static_cast<size_t>(ir::byte_size(data.dtype));
  result.bytes.resize(static_cast<size_t>(result.element_count()) * size);
  for (int64_t at = 0; at < result.element_count(); ++at) {
    int64_t rest = at, from = 0, stride = 1;
    for (size_t axis = shape.size(); axis-- > 0; rest /= shape[axis]) {
      from += rest % shape[axis] * stride;
      stride *= data.shape[axis];
    }
    std::copy_n(&data.bytes[static_cast<size_t>(from) * size], size,
                &result.bytes[static_cast<size_t>(at) * size]);
  }
  return result;
}

bool is_fixed(const Leaf& leaf) { return leaf.name[0] == 'c'; }  // a value that a case gave

int64_t number(std::string_view text) {
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

void set_extents(Recipe& recipe, int64_t from, int64_t to) {
  for (Leaf& leaf : recipe.leaves) {
    if (is_fixed(leaf)) continue;
    std::vector<int64_t> shape = leaf.data.shape;
    std::ranges::replace(shape, from, to);
    leaf.data = corner(leaf.data, shape);
  }
}

}  // namespace

std::vector<std::string> edits_of(const Recipe& recipe) {
  std::vector<std::string> edits;
  std::set<int64_t, std::greater<>> extents;
  if (recipe.outputs.size() > 1)
    for (const std::string& name : recipe.outputs) edits.push_back("only:" + name);
  for (const Step& step : recipe.steps) {
    for (const std::string& name : step.outputs) edits.push_back("leaf:" + name);
    for (const std::string& name : step.outputs) edits.push_back("only:" + name);
  }
  edits.push_back("static");
  for (const Leaf& leaf : recipe.leaves)
    if (!is_fixed(leaf)) extents.insert(leaf.data.shape.begin(), leaf.data.shape.end());
  for (int64_t extent : extents)
    for (int64_t smaller : {int64_t{1}, int64_t{2}, extent / 2, extent - 1})
      if (smaller > 0 && smaller < extent) edits.push_back(cat("extent:", extent, ":", smaller));
  for (const Leaf& leaf : recipe.leaves)
    edits.push_back((leaf.constant ? "input:" : "constant:") + leaf.name);
  return edits;
}

std::optional<Recipe> edited(const Recipe& recipe, const Values& values, const std::string& edit) {
  const std::string verb = edit.substr(0, edit.find(':'));
  const std::string name = edit.substr(std::min(edit.size(), verb.size() + 1));
  Recipe result = recipe;
  if (verb == "only") {
    result.outputs = {name};
  } else if (verb == "leaf") {
    const auto made = std::ranges::find_if(result.steps, [&](const Step& step) {
      return std::ranges::find(step.outputs, name) != step.outputs.end();
    });
    if (made == result.steps.end()) return std::nullopt;
    for (std::string& output : made->outputs)
      if (output == name) output += "_gone";
    std::erase(result.outputs, name);
    result.leaves.push_back({name, values.at(name).data});
  } else if (verb == "static") {
    for (Leaf& leaf : result.leaves) leaf.dims.clear();
  } else if (verb == "extent") {
    const size_t colon = name.find(':');
    set_extents(result, number(name.substr(0, colon)), number(name.substr(colon + 1)));
  } else {
    for (Leaf& leaf : result.leaves) {
      if (leaf.name == name) {
        leaf.constant = verb == "constant";
        leaf.dims.clear();
      }
    }
  }
  result.prune();
  if (result.outputs.empty() || result.steps.empty()) return std::nullopt;
  if (to_text(result) == to_text(recipe) || !evaluate(result)) return std::nullopt;
  return result;
}

}  // namespace gossamer::fuzz
