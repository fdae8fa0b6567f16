// The part of the Builder that makes stages.
#include <algorithm>

#include "ir/rewrite.h"
#include "ir/scalar.h"
#include "ops/bounds_check.h"
#include "ops/builder.h"
#include "ops/host_value.h"
#include "ops/reshape_index.h"
#include "stages/binary_search.h"

namespace gossamer::ops {
namespace {

// One spelling per rank, so that printed stages look alike.
std::vector<Var> make_axes(std::string_view prefix, const Shape& extents) {
  std::vector<Var> axes;
  for (size_t i = 0; i < extents.size(); ++i) axes.push_back(ir::var(cat(prefix, i)));
  return axes;
}

// An axis of extent 1 is read at 0, which lets loads of it fold.
std::vector<Expr> points_of(const std::vector<Var>& axes, const Shape& extents) {
  std::vector<Expr> point;
  for (size_t i = 0; i < axes.size(); ++i) {
    point.push_back(ir::is_const(extents[i], 1) ? ir::index(0) : Expr(axes[i]));
  }
  return point;
}

Accumulators make_accumulators(Builder::Join join, Type type) {
  const Var left = ir::var("acc", type), right = ir::var("term", type);
  const auto with = [&](const Expr& joined, const Expr& identity) {
    return Accumulators{{left, right, joined, identity}};
  };
  switch (join) {
    using enum Builder::Join;
    case prod:
      return with(Expr(left) * Expr(right), ir::constant(type, 1));
    case max:
      return with(ir::max(left, right), ir::lowest(type));
    case min:
      return with(ir::min(left, right), ir::highest(type));
    case sum:
      break;
  }
  return {stages::sum_accumulator(left, right)};
}

Shape simplified(const Builder& builder, Shape shape) {
  for (Expr& extent : shape) extent = builder.simplify(extent);
  return shape;
}

}  // namespace

void Builder::keep_extents(const std::vector<Var>& axes, const Shape& extents) {
  for (size_t i = 0; i < axes.size(); ++i) extent_of_axis_[axes[i].get()] = extents[i];
}

Stage Builder::stage_over(StageKind kind, std::string name, const Shape& extents) {
  Stage stage;
  stage.kind = kind;
  stage.name = std::move(name);
  stage.axes = make_axes("i", extents);
  stage.extents = extents;
  keep_extents(stage.axes, stage.extents);
  return stage;
}

std::string Builder::unique_name(std::string name) {
  std::string unique = name;
  for (int i = 2; !stage_names_.insert(unique).second; ++i) unique = cat(name, ".", i);
  return unique;
}

Tensor Builder::finish(Stage stage, DType dtype) {
  if (dtype == DType::string) return finish_strings(std::move(stage));
  if (stage.result) {
    GS_CHECK(stage.result->type == Type(dtype), def_.name, " stage ", stage.name, " makes ",
             ir::to_string(stage.result->type), ", not ", ir::name_of(dtype));
  }
  stage.name = unique_name(std::move(stage.name));
  stage.origin = node_name_;
  stage.output = ir::buffer(stage.name, dtype, stage.output->shape);
  check_reads(stage, [this](const Expr& read, const Expr& extent, std::string message) {
    Expr equal = simplify(read == extent), swapped = simplify(extent == read);
    bool known = std::ranges::any_of(checks, [&](const Check& check) {
      return ir::equal(check.condition, equal) || ir::equal(check.condition, swapped);
    });
    if (reads_ && !known) reads_ = require(read <= extent, std::move(message));
  });
  Tensor tensor{stage.output, std::nullopt};
  auto lookup = [this](const ir::BufferNode* buffer) -> const std::vector<Expr>* {
    auto found = known_.find(buffer);
    return found == known_.end() ? nullptr : &found->second;
  };
  if (auto elements = evaluate_on_host(stage, lookup)) {
    for (Expr& element : *elements) element = simplify(element);
    tensor.host = std::move(*elements);
    know(tensor);
  }
  program.push_back(std::move(stage));
  return tensor;
}

Tensor Builder::compute(std::string name, DType dtype, Shape shape,
                        const std::function<Expr(Point)>& body) {
  shape = simplified(*this, std::move(shape));
  Stage stage = stage_over(StageKind::compute, std::move(name), shape);
  stage.result = body(points_of(stage.axes, shape));
  stage.output = ir::buffer("", dtype, shape);
  return finish(std::move(stage), dtype);
}

Tensor Builder::append(std::string name, const Tensor& past, Shape shape, int axis,
                       const Expr& count, const std::function<Expr(Point)>& first,
                       const std::function<Expr(Point)>& fresh) {
  const auto along = static_cast<size_t>(axis);
  std::vector<Expr> point;
  const auto row = [&](const Expr& number) {
    std::vector<Expr> at = point;
    at[along] = number;
    return fresh(at);
  };
  Tensor tensor = compute(std::move(name), past.dtype(), std::move(shape), [&](Point p) {
    point.assign(p.begin(), p.end());
    const Expr before = first(p), number = simplify(p[along] - before);
    const Expr value = ir::select(number < count, row(number), ir::zero(past.dtype()));
    return ir::select(p[along] < before, past.at(p), value);
  });
  Stage& stage = *program.back().stage();
  stage.along = along;
  stage.first = first(point);
  stage.count = count;
  stage.fresh = row(stage.axes[along]);
  return tensor;
}

Tensor Builder::reduce(std::string name, Join join, DType dtype, Shape shape, Shape extents,
                       const std::function<Expr(Point, Point)>& body,
                       const std::function<Expr(Point, Expr)>& finish_body) {
  shape = simplified(*this, std::move(shape));
  extents = simplified(*this, std::move(extents));
  Stage stage = stage_over(StageKind::reduce, std::move(name), shape);
  stage.reduce_axes = make_axes("r", extents);
  stage.reduce_extents = extents;
  keep_extents(stage.reduce_axes, extents);
  std::vector<Expr> point = points_of(stage.axes, shape);
  stage.values = {body(point, points_of(stage.reduce_axes, extents))};
  stage.accumulators = make_accumulators(join, stage.values[0]->type);
  Expr total = stage.accumulators[0].left;
  stage.result = finish_body ? finish_body(point, total) : ir::cast(dtype, total);
  stage.output = ir::buffer("", dtype, shape);
  return finish(std::move(stage), dtype);
}

Tensor Builder::reduce(std::string name, Accumulators accumulators, DType dtype, Shape shape,
                       Shape extents, const std::function<std::vector<Expr>(Point, Point)>& body,
                       const std::function<Expr(Point, std::span<const Var>)>& finish_body) {
  shape = simplified(*this, std::move(shape));
  extents = simplified(*this, std::move(extents));
  Stage stage = stage_over(StageKind::reduce, std::move(name), shape);
  stage.reduce_axes = make_axes("r", extents);
  stage.reduce_extents = extents;
  keep_extents(stage.reduce_axes, extents);
  std::vector<Expr> point = points_of(stage.axes, shape);
  stage.values = body(point, points_of(stage.reduce_axes, extents));
  GS_CHECK(stage.values.size() == accumulators.size(), "one value an accumulator");
  stage.result = finish_body(point, lefts_of(accumulators));
  stage.accumulators = std::move(accumulators);
  stage.output = ir::buffer("", dtype, shape);
  return finish(std::move(stage), dtype);
}

Tensor Builder::scan(std::string name, Join join, DType dtype, Shape shape, int axis,
                     const std::function<Expr(Point)>& body,
                     const std::function<Expr(Point, Expr)>& finish_body) {
  shape = simplified(*this, std::move(shape));
  Stage stage = stage_over(StageKind::scan, std::move(name), shape);
  stage.along = static_cast<size_t>(axis);
  const std::vector<Expr> point = points_of(stage.axes, shape);
  stage.values = {body(point)};
  stage.accumulators = make_accumulators(join, stage.values[0]->type);
  Expr total = stage.accumulators[0].left;
  stage.result = finish_body ? finish_body(point, total) : ir::cast(dtype, total);
  stage.output = ir::buffer("", dtype, shape);
  return finish(std::move(stage), dtype);
}

Tensor Builder::scan(std::string name, Accumulators accumulators, DType dtype, Shape shape,
                     int axis, const std::function<std::vector<Expr>(Point)>& body,
                     const std::function<Expr(Point, std::span<const Var>)>& finish_body) {
  shape = simplified(*this, std::move(shape));
  Stage stage = stage_over(StageKind::scan, std::move(name), shape);
  stage.along = static_cast<size_t>(axis);
  const std::vector<Expr> point = points_of(stage.axes, shape);
  stage.values = body(point);
  GS_CHECK(stage.values.size() == accumulators.size(), "one value an accumulator");
  stage.result = finish_body(point, lefts_of(accumulators));
  stage.accumulators = std::move(accumulators);
  stage.output = ir::buffer("", dtype, shape);
  return finish(std::move(stage), dtype);
}

Tensor Builder::walk(std::string name, DType dtype, Shape shape, int axis,
                     const std::function<std::vector<Expr>(Point)>& starts,
                     const std::function<std::vector<Expr>(Point, std::span<const Var>)>& next,
                     const std::function<Expr(Point, std::span<const Var>)>& finish_body) {
  shape = simplified(*this, std::move(shape));
  Stage stage = stage_over(StageKind::scan, std::move(name), shape);
  stage.along = static_cast<size_t>(axis);
  stage.in_order = true;
  const auto steps = ir::as_int(shape[stage.along]);
  GS_CHECK(steps, "steps of a walk");
  stage.segment = *steps;
  const std::vector<Expr> point = points_of(stage.axes, shape);
  stage.starts = starts(point);
  for (const Expr& start : stage.starts) {
    const size_t k = stage.accumulators.size();
    const Var next = ir::var(cat("next", k), start->type);
    stage.accumulators.push_back(
        {ir::var(cat("so_far", k), start->type), next, next, ir::zero(start->type)});
  }
  const std::vector<Var> so_far = lefts_of(stage.accumulators);
  stage.values = next(point, so_far);
  stage.result = finish_body(point, so_far);
  stage.output = ir::buffer("", dtype, shape);
  return finish(std::move(stage), dtype);
}

Tensor Builder::sort(
    std::string name, Shape shape, int axis, Expr length,
    const std::function<std::vector<Expr>(Point)>& keys,
    const std::function<Expr(std::span<const Var>, std::span<const Var>)>& before) {
  shape = simplified(*this, std::move(shape));
  Stage stage = stage_over(StageKind::sort, std::move(name), shape);
  stage.along = static_cast<size_t>(axis);
  stage.reduce_axes = {ir::var("r0")};
  stage.reduce_extents = {simplify(length)};
  std::vector<Expr> point = points_of(stage.axes, shape);
  point[stage.along] = stage.reduce_axes[0];
  stage.values = keys(point);
  std::vector<Var> left, right;
  for (const Expr& value : stage.values) {
    left.push_back(ir::var("left", value->type));
    right.push_back(ir::var("right", value->type));
    stage.accumulators.push_back({left.back(), right.back(), {}, {}});
  }
  stage.accumulators[0].joined = before(left, right);
  stage.output = ir::buffer("", DType::i32, shape);
  return finish(std::move(stage), DType::i32);
}

Tensor Builder::search(std::string name, Shape shape, Expr length,
                       const std::function<Expr(Point, Expr)>& holds) {
  shape = simplified(*this, std::move(shape));
  length = simplify(length);
  Stage stage = stage_over(StageKind::compute, std::move(name), shape);
  const std::vector<Expr> point = points_of(stage.axes, shape);
  search_in(stage, ir::index(0), length, ir::as_int(length).value_or(-1), [&](const Expr& middle) {
    return holds(point, ir::max(ir::min(middle, length - ir::index(1)), ir::index(0)));
  });
  stage.result = ir::cast(DType::i32, stage.accumulators[0].left);
  stage.output = ir::buffer("", DType::i32, shape);
  return finish(std::move(stage), DType::i32);
}

Tensor Builder::scatter(std::string name, Tensor initial, Shape domain, std::optional<Join> join,
                        const std::function<std::vector<Expr>(Point)>& target,
                        const std::function<Expr(Point)>& value,
                        const std::function<Expr(Point)>& condition, bool increasing) {
  domain = simplified(*this, std::move(domain));
  Stage stage = stage_over(StageKind::scatter, std::move(name), domain);
  stage.initial = initial.buffer;
  std::vector<Expr> point = points_of(stage.axes, domain);
  stage.target = target(point);
  stage.values = {value(point)};
  if (condition) stage.condition = condition(point);
  if (join) stage.accumulators = make_accumulators(*join, stage.values[0]->type);
  stage.increasing = increasing;
  stage.output = ir::buffer("", initial.dtype(), initial.shape());
  GS_CHECK(stage.values[0]->type == Type(initial.dtype()), "scattered values differ in type");
  GS_CHECK(static_cast<int>(stage.target.size()) == initial.rank(), "target rank");
  return finish(std::move(stage), initial.dtype());
}

Tensor Builder::host_tensor(DType dtype, Shape shape, std::vector<Expr> elements) {
  for (Expr& element : elements) element = simplify(element);
  bool known =
      std::ranges::all_of(elements, [](const Expr& e) { return ir::as_float(e).has_value(); });
  if (known) {
    TensorData data{dtype, {}, {}, {}};
    for (const Expr& extent : shape) {
      auto size = ir::as_int(simplify(extent));
      GS_CHECK(size, "shape of a host tensor");
      data.shape.push_back(*size);
    }
    size_t bytes = static_cast<size_t>(ir::byte_size(dtype));
    data.bytes.resize(elements.size() * bytes);
    for (size_t i = 0; i < elements.size(); ++i) {
      auto whole = ir::as_int(elements[i]);
      ir::Scalar value = whole ? ir::Scalar::of_int(dtype, *whole)
                               : ir::Scalar::of_float(dtype, *ir::as_float(elements[i]));
      ir::write_scalar(value, &data.bytes[i * bytes]);
    }
    Tensor tensor = constant(data);
    if (can_be_host(dtype)) {
      tensor.host = std::move(elements);
      know(tensor);
    }
    return tensor;
  }
  // A kernel that wants the elements reads them through a chain of selects.
  Tensor tensor = compute("host", dtype, shape, [&](Point point) {
    Expr linear = ir::index(0);
    for (size_t i = 0; i < point.size(); ++i) linear = linear * shape[i] + point[i];
    linear = simplify(linear);
    auto element = [&](size_t i) -> Expr {
      if (dtype == DType::boolean) return elements[i] != 0;
      return ir::cast(dtype, elements[i]);
    };
    Expr chain = element(elements.size() - 1);
    for (size_t i = elements.size() - 1; i-- > 0;) {
      chain = ir::select(linear == static_cast<double>(i), element(i), chain);
    }
    return chain;
  });
  tensor.host = std::move(elements);
  know(tensor);
  return tensor;
}

Tensor Builder::constant(const TensorData& data) {
  if (data.dtype == DType::string) {
    const StringsData parts = split_strings(data);
    return strings(constant(parts.bytes), constant(parts.lengths));
  }
  Shape shape;
  for (int64_t extent : data.shape) shape.push_back(ir::index(extent));
  Tensor tensor{ir::buffer(unique_name("constant"), data.dtype, std::move(shape)), std::nullopt};
  tensor.host = host_elements(data.dtype, data.bytes);
  know(tensor);
  constants.push_back({tensor.buffer, data});
  return tensor;
}

Tensor Builder::scalar(DType dtype, double value) {
  TensorData data{dtype, {}, std::vector<std::byte>(static_cast<size_t>(ir::byte_size(dtype))), {}};
  ir::write_scalar(ir::Scalar::of_float(dtype, value), data.bytes.data());
  return constant(data);
}

Result<std::vector<Tensor>> Builder::call(std::string_view op, std::vector<Tensor> inputs,
                                          Attributes attributes, int output_count) {
  const Catalog& from = catalog ? *catalog : builtin_catalog();
  const size_t colons = op.find("::");
  const bool foreign = colons != std::string_view::npos;
  const OpDef* def =
      foreign ? from.find(op.substr(0, colons), op.substr(colons + 2)) : from.find("", op);
  if (!def) return error(cat("is composed of ", op, ", which the catalog lacks"));
  return call(*def, std::move(inputs), std::move(attributes), output_count);
}

Result<std::vector<Tensor>> Builder::call(const OpDef& def, std::vector<Tensor> inputs,
                                          Attributes attributes, int output_count) {
  Builder inner(def, node_name_, inputs, std::move(attributes), output_count);
  inner.catalog = catalog;
  inner.bounds = bounds;
  inner.stage_names_ = std::move(stage_names_);
  Result<> status = inner.define();
  stage_names_ = std::move(inner.stage_names_);
  GS_TRY(status);
  std::ranges::move(inner.program, std::back_inserter(program));
  std::ranges::move(inner.checks, std::back_inserter(checks));
  std::ranges::move(inner.constants, std::back_inserter(constants));
  known_.merge(inner.known_);
  strings_.merge(inner.strings_);
  return std::move(inner.outputs);
}

Result<Tensor> Builder::call1(std::string_view op, std::vector<Tensor> inputs,
                              Attributes attributes) {
  GS_ASSIGN(std::vector<Tensor> made, call(op, std::move(inputs), std::move(attributes), 1));
  return std::move(made[0]);
}

bool Builder::has_region(std::string_view name) const {
  const auto at = static_cast<size_t>(std::ranges::find(def_.regions, name) - def_.regions.begin());
  GS_CHECK(at < def_.regions.size(), def_.name, " declares no region ", name);
  return at < regions.size() && regions[at];
}

Result<std::vector<Tensor>> Builder::region(std::string_view name, std::vector<Tensor> inputs) {
  GS_CHECK(has_region(name), "the node has no region ", name);
  const auto at = static_cast<size_t>(std::ranges::find(def_.regions, name) - def_.regions.begin());
  GS_ASSIGN(Inlined made, regions[at](std::move(inputs)));
  std::ranges::move(made.program, std::back_inserter(program));
  for (const Tensor& output : made.outputs) know(output);
  return std::move(made.outputs);
}

Tensor Builder::reshape(std::string name, Tensor tensor, Shape shape) {
  shape = simplified(*this, std::move(shape));
  if (tensor.dtype() == DType::string) {
    Shape wide = shape;
    wide.push_back(tensor.width());
    const Tensor bytes = reshape(name, tensor.all_bytes(), std::move(wide));
    return strings(bytes, reshape(name + ".lengths", tensor.all_lengths(), std::move(shape)));
  }
  Tensor view = compute(std::move(name), tensor.dtype(), shape, [&](Point point) {
    ir::Bounds inside = bounds;
    for (size_t i = 0; i < shape.size(); ++i) {
      if (const auto* axis = ir::as<ir::VarNode>(point[i])) inside.set_axis(axis, shape[i]);
    }
    return tensor.at(same_position(tensor.shape(), shape, {point.begin(), point.end()}, inside));
  });
  program.back().stage()->view = true;
  if (tensor.host) {
    view.host = tensor.host;
    know(view);
  }
  return view;
}

}  // namespace gossamer::ops
