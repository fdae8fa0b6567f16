#include "fuzz/evaluate.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gossamer/judge/compare.h"
#include "gossamer/runners/runner.h"
#include "interp/expr_eval.h"
#include "ir/scalar.h"

namespace gossamer::fuzz {
namespace {

using ir::DType;
using ir::Scalar;
using ops::TensorData;

constexpr int64_t max_elements = 40000;

// What a target may be off after one operation, relative; half types may or may not be rounded to
// between two operations.
double unit_of(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return 1e-3;
    case DType::bf16:
      return 8e-3;
    default:
      return 2e-6;
  }
}

double largest_of(DType dtype) {
  if (dtype == DType::f16) return 60000;
  return 3e38;
}

// Every second element is off by so much, the others the other way; numbers that flush are flushed,
// zeros have the other sign.
void shake(TensorData& data, uint64_t seed, bool other_way = false) {
  if (!ir::is_float(data.dtype)) return;
  for (int64_t at = 0; at < data.element_count(); ++at) {
    Scalar value = interp::element(data, at);
    const uint64_t bits = (seed + static_cast<uint64_t>(at)) * 0x9e3779b97f4a7c15u;
    const bool up = (bits >> 63 != 0) != other_way;
    const double off = up ? unit_of(data.dtype) : -unit_of(data.dtype);
    if (value.f == 0 || std::abs(value.f) < 1.2e-38)
      value.f = std::signbit(value.f) ? 0.0 : -0.0;
    else
      value.f *= 1 + off;
    interp::set_element(data, at, Scalar::of_float(data.dtype, value.f));
  }
}

Result<std::vector<TensorData>> run(const Recipe& recipe) {
  const std::string bytes = to_onnx(recipe);
  const auto view = std::as_bytes(std::span(bytes));
  GS_ASSIGN(const command::ModelFile model,
            command::read_model({view.begin(), view.end()}, "graph", nullptr));
  GS_ASSIGN(const auto runner, command::make_interp_runner(model));
  std::vector<TensorData> feeds;
  for (const command::Port& port : runner->inputs()) {
    const Leaf* leaf = recipe.leaf(port.name);
    GS_CHECK(leaf, port.name);
    feeds.push_back(leaf->data);
  }
  return runner->run(feeds);
}

Result<> check_stable(const TensorData& value, const TensorData& shaken) {
  command::Tolerance allowed = command::tolerance_of(value.dtype);
  allowed.absolute *= 0.25;
  allowed.relative *= 0.25;
  if (!command::compare(shaken, value, allowed).agrees) return fail("is not stable");
  return {};
}

Result<> check_range(const TensorData& value, bool infinite_operands) {
  if (!ir::is_float(value.dtype)) return {};
  for (int64_t at = 0; at < value.element_count(); ++at) {
    const double x = std::abs(interp::element(value, at).f);
    if (std::isnan(x)) continue;
    if (std::isinf(x) ? !infinite_operands && value.dtype != DType::f32
                      : x > largest_of(value.dtype))
      return fail("is out of range");
  }
  return {};
}

// Its results are steps, so that what a target may be off in the scale shows at once.
bool quantizes(const ops::OpDef& def) {
  return def.name.starts_with("QLinear") || def.name.find("Quantize") != std::string::npos;
}

// Interpolates integers and cuts off what is behind the point, so that a sum that is an integer may
// be one less with multiply-adds. Integers are never off here, so it would not show.
bool cuts_off(const Step& step, const Values& values) {
  const auto mode = step.attributes.find("mode");
  const bool between =
      mode != step.attributes.end() && std::get<std::string>(mode->second) != "nearest";
  return step.def->name == "Resize" && between &&
         !ir::is_float(values.at(step.inputs[0]).data.dtype);
}

bool has_infinity(const TensorData& data) {
  if (!ir::is_float(data.dtype)) return false;
  for (int64_t at = 0; at < data.element_count(); ++at) {
    if (std::isinf(interp::element(data, at).f)) return true;
  }
  return false;
}

// As far off as `shaken`, the other way.
TensorData mirrored(const TensorData& data, const TensorData& shaken) {
  TensorData result = shaken;
  if (!ir::is_float(data.dtype)) return result;
  for (int64_t at = 0; at < data.element_count(); ++at) {
    const double off = 2 * interp::element(data, at).f - interp::element(shaken, at).f;
    if (std::isfinite(off)) interp::set_element(result, at, Scalar::of_float(data.dtype, off));
  }
  return result;
}

// Whether it makes integers of floats, which jump where a float is off to one side.
bool jumps(const std::vector<TensorData>& made, const Recipe& step) {
  const auto is_float = [](DType dtype) { return ir::is_float(dtype); };
  return std::ranges::any_of(step.leaves, is_float,
                             [](const Leaf& leaf) { return leaf.data.dtype; }) &&
         !std::ranges::all_of(made, is_float, &TensorData::dtype);
}

// The step on its own. Leaves of a step that quantizes are off too, to either side.
enum class Side : uint8_t { exact, one, other };
Recipe alone(const Step& step, const Recipe& recipe, const Values& values, Side side) {
  Recipe result;
  for (const std::string& name : step.inputs) {
    if (name.empty() || result.leaf(name)) continue;
    const Leaf* known = recipe.leaf(name);
    const Value& value = values.at(name);
    result.leaves.push_back(
        {name, side == Side::exact ? value.data : value.shaken, known && known->constant});
    if (side == Side::other && !quantizes(*step.def))
      result.leaves.back().data = mirrored(value.data, value.shaken);
    if (side != Side::exact && known && quantizes(*step.def))
      shake(result.leaves.back().data, recipe.seed + result.leaves.size(), side == Side::other);
  }
  result.steps = {step};
  result.outputs = step.outputs;
  return result;
}

}  // namespace

void add_leaves(const Recipe& recipe, Values& values) {
  for (const Leaf& leaf : recipe.leaves) values[leaf.name] = {leaf.data, leaf.data};
}

Result<> evaluate(const Step& step, const Recipe& recipe, Values& values) {
  // Types that GPUs compute in f32 instead.
  const auto precision = step.attributes.find("precision");
  if (precision != step.attributes.end() && std::get<int64_t>(precision->second) != 0)
    return fail("computes in a type of its own");
  if (cuts_off(step, values)) return fail("is not stable");
  const Recipe exact = alone(step, recipe, values, Side::exact);
  bool infinite = false, is_shaken = quantizes(*step.def);
  for (const Leaf& leaf : exact.leaves) {
    infinite = infinite || has_infinity(leaf.data);
    is_shaken = is_shaken || leaf.data.bytes != values.at(leaf.name).shaken.bytes;
  }
  GS_ASSIGN(std::vector<TensorData> made, run(exact));
  for (const TensorData& data : made) {
    if (data.element_count() > max_elements) return fail("has too many elements");
    GS_TRY(check_range(data, infinite));
  }
  std::vector<TensorData> other = made;
  for (const Side side : {Side::one, Side::other}) {
    if (!is_shaken || (side == Side::other && !quantizes(*step.def) && !jumps(made, exact)))
      continue;
    auto again = run(alone(step, recipe, values, side));
    if (!again) return fail("is not stable");
    for (size_t at = 0; at < made.size(); ++at) {
      if ((*again)[at].shape != made[at].shape) return fail("is not stable");
      GS_TRY(check_stable(made[at], (*again)[at]));
    }
    if (side == Side::one || quantizes(*step.def)) other = *std::move(again);
  }
  for (size_t at = 0; at < made.size(); ++at) {
    shake(other[at], recipe.seed + recipe.steps.size() * 1000 + at);
    GS_TRY(check_stable(made[at], other[at]));
  }
  for (size_t at = 0; at < made.size(); ++at)
    values[step.outputs[at]] = {std::move(made[at]), std::move(other[at])};
  return {};
}

Result<Values> evaluate(const Recipe& recipe) {
  Values values;
  add_leaves(recipe, values);
  for (const Step& step : recipe.steps) GS_TRY(evaluate(step, recipe, values));
  return values;
}

Result<std::vector<TensorData>> evaluate_whole(const Recipe& recipe) { return run(recipe); }

bool is_wide(const Values& values) {
  for (const auto& [name, value] : values) {
    const TensorData& data = value.data;
    if (data.dtype != DType::i64 && data.dtype != DType::u64) continue;
    for (int64_t at = 0; at < data.element_count(); ++at) {
      const int64_t x = interp::element(data, at).i;
      if (data.dtype == DType::i64 ? x != static_cast<int32_t>(x) : x >> 32 != 0) return true;
    }
  }
  return false;
}

}  // namespace gossamer::fuzz
