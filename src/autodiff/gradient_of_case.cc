#include "autodiff/gradient_of_case.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "autodiff/differentiate.h"
#include "autodiff/stage_gradient.h"
#include "ir/scalar.h"

namespace gossamer::autodiff {
namespace {

bool is_variable(ir::DType dtype) { return ir::is_float(dtype) && !ir::is_small(dtype); }

// Weights of both signs, none near 0.
ops::TensorData weights_of(ir::DType dtype, std::vector<int64_t> shape) {
  ops::TensorData data{dtype, std::move(shape), {}, {}};
  const auto size = static_cast<size_t>(ir::byte_size(dtype));
  const auto count = static_cast<size_t>(data.element_count());
  data.bytes.resize(count * size);
  for (size_t i = 0; i < count; ++i) {
    const double value = static_cast<double>((i * 7 + 3) % 11) / 8 - 0.6875;
    ir::write_scalar(ir::Scalar::of_float(dtype, value), &data.bytes[i * size]);
  }
  return data;
}

std::optional<std::vector<int64_t>> numbers(const std::vector<ir::Expr>& shape) {
  std::vector<int64_t> extents;
  for (const ir::Expr& extent : shape) {
    const auto known = ir::as_int(extent);
    if (!known) return std::nullopt;
    extents.push_back(*known);
  }
  return extents;
}

ops::DefinedCase define(const ops::OpDef& def, const ops::Case& test,
                        const std::vector<ops::TensorData>& inputs) {
  ops::Case open = test;
  for (ops::TensorData& given : open.inputs) {
    if (is_variable(given.dtype)) given = {};
  }
  const int outputs = ops::output_count_of(def, test);
  ops::DefinedCase made = ops::define_case(def, open, inputs, outputs);
  return made.status ? std::move(made) : ops::define_case(def, test, inputs, outputs);
}

// Appends the gradient of a weighted sum of these tensors, which become the case's outputs.
void append_gradient(GradientOfCase& of, const std::string& name, const std::vector<Tensor>& ys) {
  ops::DefinedCase& made = of.made;
  of.xs.clear();
  of.none.clear();
  of.outputs.clear();
  of.weights.clear();
  std::vector<size_t> variables;
  std::vector<Tensor> xs;
  for (size_t i = 0; i < made.inputs.size(); ++i) {
    if (!made.inputs[i] || !is_variable(made.inputs[i].dtype())) continue;
    variables.push_back(i);
    xs.push_back(made.inputs[i]);
  }
  for (const Tensor& y : ys) {
    if (!y || !is_variable(y.dtype())) continue;
    of.outputs.push_back(y);
    of.weights.emplace_back();
    if (const auto shape = numbers(y.shape())) {
      of.weights.back().buffer =
          ir::buffer(cat(name, ".weights", of.weights.size()), y.dtype(), y.shape());
      made.memory.emplace_back(of.weights.back().buffer, weights_of(y.dtype(), *shape));
    }
  }
  ops::OpDef gradient;
  gradient.name = "Gradient";
  std::vector<std::vector<Tensor>> parts(xs.size());
  gradient.define = [&](ops::Builder& b) -> Result<> {
    for (size_t j = 0; j < of.outputs.size(); ++j) {
      GS_ASSIGN(const std::vector<Tensor> found,
                differentiate(b, made.builder->program, {of.outputs[j], of.weights[j], xs, false}));
      for (size_t k = 0; k < xs.size(); ++k) {
        if (found[k]) parts[k].push_back(found[k]);
      }
    }
    for (std::vector<Tensor>& all : parts) {
      if (all.size() > 1) all = {sum_of(b, "sum", all)};
    }
    return {};
  };
  ops::Builder builder(gradient, name, std::vector<Tensor>(), {}, 0);
  made.status = builder.define();
  made.outputs.clear();
  for (size_t k = 0; k < xs.size(); ++k) {
    if (parts[k].empty()) {
      of.none.push_back(variables[k]);
      continue;
    }
    of.xs.push_back(variables[k]);
    made.outputs.push_back(parts[k][0]);
  }
  std::ranges::move(builder.program, std::back_inserter(made.builder->program));
  std::ranges::move(builder.constants, std::back_inserter(made.builder->constants));
  std::ranges::move(builder.checks, std::back_inserter(made.builder->checks));
}

}  // namespace

GradientOfCase gradient_of_case(const ops::OpDef& def, const ops::Case& test,
                                const std::vector<ops::TensorData>& inputs) {
  GradientOfCase result;
  result.made = define(def, test, inputs);
  if (!result.made.status) return result;
  const std::vector<Tensor> ys = result.made.outputs;
  append_gradient(result, test.name + ".gradient", ys);
  return result;
}

GradientOfCase second_gradient_of_case(const ops::OpDef& def, const ops::Case& test,
                                       const std::vector<ops::TensorData>& inputs) {
  GradientOfCase result = gradient_of_case(def, test, inputs);
  if (!result.made.status) return result;
  const std::vector<Tensor> ys = result.made.outputs;
  append_gradient(result, test.name + ".second", ys);
  return result;
}

std::string gradient_inputs(const ops::OpDef& def) {
  std::set<std::string> found;
  for (const ops::Case& test : def.cases()) {
    const GradientOfCase one = gradient_of_case(def, test, ops::case_inputs(def, test));
    if (!one.made.status) continue;
    for (size_t x : one.xs) found.insert(ops::input_of(def, test, x).name);
  }
  std::string names;
  for (const ops::InputDef& input : def.inputs) {
    if (found.contains(input.name)) names += cat(names.empty() ? "" : ", ", input.name);
  }
  return names;
}

}  // namespace gossamer::autodiff
