#include "tensor/traced.h"

#include <algorithm>
#include <cmath>

#include "graph/gradient_op.h"
#include "ir/build.h"
#include "ir/scalar.h"

namespace gossamer::tensor {
namespace {

using graph::no_value;
using graph::ValueId;

constexpr std::string_view hint = "export it without dynamic axes, once for each extent";

// What other tensors that a function makes are refused with.
constexpr std::string_view unknown_elements =
    "its elements follow from the extents in other ways than those of zeros(), ones(), full(), "
    "arange(), linspace() and eye()";

int64_t count_of(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  return count;
}

std::string text_of(const std::vector<int64_t>& shape) {
  std::string text;
  for (const int64_t extent : shape) text += cat(text.empty() ? "" : ", ", extent);
  return cat("[", text, "]");
}

double element(ir::DType dtype, std::span<const std::byte> bytes, int64_t at) {
  const int64_t width = ir::byte_size(dtype);
  return ir::read_scalar(dtype, bytes.data() + at * width).as_double();
}

ops::TensorData scalar_of(ir::DType dtype, std::vector<int64_t> shape, double value) {
  ops::TensorData data{dtype, std::move(shape), {}};
  data.bytes.resize(static_cast<size_t>(ir::byte_size(dtype)));
  ir::write_scalar(ir::Scalar::of_float(dtype, value), data.bytes.data());
  return data;
}

ops::Attributes axis_of(int64_t axis) { return {{"axis", axis}}; }
ops::Attributes type_of(const char* name, ir::DType dtype) {
  return {{name, ops::onnx_of_dtype(dtype)}};
}

// Floats that are computed from dimensions are computed in this type.
ir::DType computed_in(ir::DType dtype) {
  if (!ir::is_float(dtype)) return ir::DType::i64;
  return dtype == ir::DType::f64 ? ir::DType::f64 : ir::DType::f32;
}

std::vector<std::vector<int64_t>> extents_of(const Traced& traced) {
  std::vector<std::vector<int64_t>> made;
  for (const Traced::Dim& dim : traced.dims) made.push_back(dim.extents);
  return made;
}

}  // namespace

Recorder::Tracing::Tracing(const Recorder& recorder, const Traced& traced)
    : recorder_(recorder), traced_(traced), examples_(extents_of(traced)) {
  for (const Traced::Dim& dim : traced.dims) symbols_.emplace_back(ir::var(dim.name));
}

Result<graph::Graph> Recorder::Tracing::graph(const Recorder& recorder, const Traced& traced) {
  Tracing tracing(recorder, traced);
  tracing.made_.name = traced.name;
  GS_TRY(tracing.parse());
  GS_TRY(tracing.compare());
  GS_TRY(tracing.add_ports());
  GS_TRY(tracing.add_feeds());
  GS_TRY(tracing.add_nodes());
  GS_TRY(tracing.add_outputs());
  return std::move(tracing.made_);
}

std::string Recorder::Tracing::name_of(int64_t operation) const {
  const Operation& known = recorder_.operations_[static_cast<size_t>(operation)];
  return known.node.def ? cat("[", known.node.def->name, "]") : "[model]";
}

Result<Recorder::Tracing::Program> Recorder::Tracing::parse(const Words& words) const {
  Program made;
  std::vector<Use> values;  // by their numbers in the words
  size_t at = 0;
  while (words[at] != word::wanted) {
    if (words[at] == word::weight) return fail("it has frozen weights");
    if (words[at] == word::feed || words[at] == word::constant) {
      const bool feed = words[at] == word::feed;
      if (feed) made.feeds.push_back(words[at + 1]);
      const auto place = static_cast<int64_t>(made.feeds.size()) - 1;
      values.push_back({feed ? Use::feed : Use::constant, feed ? place : words[at + 1]});
      at += 2;
      continue;
    }
    Node node{words[at], {}, static_cast<size_t>(words[at + 2])};
    const auto inputs = static_cast<size_t>(words[at + 1]);
    at += 3;
    for (size_t i = 0; i < inputs; ++i, ++at)
      node.inputs.push_back(words[at] < 0 ? Use() : values[static_cast<size_t>(words[at])]);
    for (size_t i = 0; i < node.outputs; ++i)
      values.push_back({Use::made, static_cast<int64_t>(made.nodes.size()), i});
    made.nodes.push_back(std::move(node));
  }
  for (size_t i = at + 2; i < words.size(); i += 2) {
    made.wanted.push_back(values[static_cast<size_t>(words[i])]);
    made.specs.push_back(words[i + 1]);
  }
  return made;
}

Result<> Recorder::Tracing::parse() {
  for (const int number : traced_.programs) {
    const auto& words = recorder_.programs_[static_cast<size_t>(number)];
    if (words.empty()) return fail("it is a program of many shapes");
    GS_ASSIGN(Program program, parse(words));
    programs_.push_back(std::move(program));
  }
  return {};
}

Result<> Recorder::Tracing::compare(const Node& a, const Node& b) const {
  const std::string where = name_of(a.operation);
  const auto other = [&](std::string_view what) {
    return fail_at(where, std::string(what), std::string(hint));
  };
  if (a.operation != b.operation && name_of(b.operation) == where)
    return other("its attributes follow from the extents that are dimensions");
  const auto alike = [&](const Use& x, const Use& y) {
    if (x.kind != y.kind) return false;
    return x.kind == Use::constant || (x.at == y.at && x.output == y.output);
  };
  if (a.operation != b.operation || a.outputs != b.outputs ||
      !std::ranges::equal(a.inputs, b.inputs, alike))
    return other("what is computed depends on the extents in other ways than shapes do");
  return {};
}

// Whether all traces have the same structure.
Result<> Recorder::Tracing::compare() const {
  const Program& first = programs_[0];
  for (const Program& program : std::span(programs_).subspan(1)) {
    const size_t count = std::min(first.nodes.size(), program.nodes.size());
    for (size_t i = 0; i < count; ++i) GS_TRY(compare(first.nodes[i], program.nodes[i]));
    if (first.nodes.size() != program.nodes.size() || first.feeds.size() != program.feeds.size() ||
        first.wanted.size() != program.wanted.size())
      return fail_at(traced_.name,
                     "what is computed depends on the extents in other ways than shapes do",
                     std::string(hint));
  }
  return {};
}

ValueId Recorder::Tracing::node(std::string_view op, std::vector<ValueId> inputs,
                                ops::Attributes attributes) {
  return recorder_.write_node(made_, op, std::move(inputs), std::move(attributes));
}

ValueId Recorder::Tracing::number(const ops::TensorData& data) {
  graph::Value value;
  value.name = cat("c", made_.values.size());
  value.dtype = data.dtype;
  value.shape_known = true;
  for (const int64_t extent : data.shape) value.shape.push_back(ir::index(extent));
  value.constant = graph::source_of(data);
  return made_.add_value(std::move(value));
}

ValueId Recorder::Tracing::extent(size_t dim) {
  const auto [known, fresh] = extents_.try_emplace(dim, no_value);
  if (fresh) {
    const auto [port, axis] = traced_.dims[dim].places[0];
    const auto place = static_cast<int64_t>(axis);
    known->second = node("Shape", {ports_[port]}, {{"start", place}, {"end", place + 1}});
  }
  return known->second;
}

ValueId Recorder::Tracing::write(const Formula& formula) {
  if (formula.is_constant()) return whole(formula.offset);
  ValueId made = no_value;
  const auto join = [&](std::string_view op, ValueId other) {
    made = made == no_value ? other : node(op, {made, other});
  };
  for (const int16_t dim : std::span(formula.factors).first(static_cast<size_t>(formula.count)))
    join("Mul", extent(static_cast<size_t>(dim)));
  if (formula.numerator != 1) join("Mul", whole(formula.numerator));
  if (formula.more != 0) join("Add", whole(formula.more));
  if (formula.denominator != 1) join("Div", whole(formula.denominator));
  if (formula.term >= 0) join("Add", extent(static_cast<size_t>(formula.term)));
  if (formula.offset != 0) join("Add", whole(formula.offset));
  return made;
}

ValueId Recorder::Tracing::write(const RealFormula& formula, ir::DType dtype) {
  if (formula.is_constant() && formula.scale == 0)
    return number(scalar_of(dtype, {1}, formula.shift));
  ValueId made = write(formula.whole);
  const ir::DType inner =
      formula.scale == 1 && formula.shift == 0 && formula.last == 0 ? dtype : computed_in(dtype);
  if (inner != ir::DType::i64) made = node("Cast", {made}, type_of("to", inner));
  if (formula.scale != 1) made = node("Mul", {made, number(scalar_of(inner, {1}, formula.scale))});
  if (formula.shift != 0) made = node("Add", {made, number(scalar_of(inner, {1}, formula.shift))});
  if (formula.last == RealFormula::root || formula.last == RealFormula::reciprocal_root)
    made = node("Sqrt", {made});
  if (formula.last == RealFormula::reciprocal || formula.last == RealFormula::reciprocal_root)
    made = node("Reciprocal", {made});
  return inner == dtype ? made : node("Cast", {made}, type_of("to", dtype));
}

std::optional<std::vector<Formula>> Recorder::Tracing::shape_of(const Family& family) const {
  std::vector<Formula> extents;
  for (size_t axis = 0; axis < family.shapes[0].size(); ++axis) {
    std::vector<int64_t> numbers;
    for (const auto& shape : family.shapes) numbers.push_back(shape[axis]);
    auto found = examples_.whole(numbers);
    if (!found) return std::nullopt;
    extents.push_back(*found);
  }
  return extents;
}

// A shape, as a list.
ValueId Recorder::Tracing::shape(const std::vector<Formula>& extents) {
  if (extents.empty()) return number(ops::int64s({0}, {}));
  std::vector<ValueId> parts;
  parts.reserve(extents.size());
  for (const Formula& each : extents) parts.push_back(write(each));
  return parts.size() == 1 ? parts[0] : node("Concat", parts, axis_of(0));
}

// All elements are one number.
std::optional<ValueId> Recorder::Tracing::filled(const Family& family) {
  std::vector<double> numbers;
  for (size_t t = 0; t < family.shapes.size(); ++t) {
    const int64_t count = count_of(family.shapes[t]);
    if (count == 0) return std::nullopt;
    numbers.push_back(element(family.dtype, family.elements[t], 0));
    for (int64_t i = 1; i < count; ++i)
      if (element(family.dtype, family.elements[t], i) != numbers[t]) return std::nullopt;
  }
  const auto extents = shape_of(family);
  const auto formula = examples_.real(numbers);
  if (!extents || !formula) return std::nullopt;
  if (formula->is_constant() && formula->scale == 0)
    return node("ConstantOfShape", {shape(*extents)},
                {{"value", scalar_of(family.dtype, {1}, numbers[0])}});
  const ValueId one = write(*formula, family.dtype);
  if (extents->empty()) return node("Squeeze", {one});
  return node("Expand", {one, shape(*extents)});
}

// Elements grow evenly along axes.
std::optional<ValueId> Recorder::Tracing::ramp(const Family& family) {
  if (family.dtype == ir::DType::boolean) return std::nullopt;
  const size_t rank = family.shapes[0].size();
  std::vector<double> begins;
  std::vector<std::vector<double>> steps(rank);
  for (size_t t = 0; t < family.shapes.size(); ++t) {
    const std::vector<int64_t>& shape = family.shapes[t];
    const int64_t count = count_of(shape);
    if (count == 0) return std::nullopt;
    const double begin = element(family.dtype, family.elements[t], 0);
    begins.push_back(begin);
    double largest = std::abs(begin);
    for (size_t axis = 0, stride = static_cast<size_t>(count); axis < rank; ++axis) {
      stride /= static_cast<size_t>(shape[axis]);
      // From one end to the other, as single steps are rounded.
      const int64_t last = shape[axis] - 1;
      const double end =
          element(family.dtype, family.elements[t], last * static_cast<int64_t>(stride));
      steps[axis].push_back(last == 0 ? 0 : (end - begin) / static_cast<double>(last));
      largest = std::max(largest, std::abs(end));
    }
    for (int64_t i = 0; i < count; ++i) {
      double wanted = begin;
      int64_t rest = i;
      for (size_t axis = rank; axis-- > 0; rest /= shape[axis])
        wanted += steps[axis][t] * static_cast<double>(rest % shape[axis]);
      const double slack = ir::is_float(family.dtype) ? 1e-6 * std::max(largest, 1e-30) : 0.0;
      if (!(std::abs(wanted - element(family.dtype, family.elements[t], i)) <= slack))
        return std::nullopt;
    }
  }
  const auto extents = shape_of(family);
  const auto begin = examples_.real(begins);
  if (!extents || !begin) return std::nullopt;
  std::vector<std::optional<RealFormula>> slopes;
  for (size_t axis = 0; axis < rank; ++axis) {
    slopes.push_back(examples_.real(steps[axis]));
    if (!slopes.back()) return std::nullopt;
  }
  const ir::DType inner = computed_in(family.dtype);
  ValueId sum = write(*begin, inner);
  for (size_t axis = 0; axis < rank; ++axis) {
    const RealFormula& slope = *slopes[axis];
    if (slope.is_constant() && slope.scale == 0 && slope.shift == 0) continue;
    const ValueId end = node("Squeeze", {write((*extents)[axis])});
    ValueId along =
        node("Range", {number(ops::int64s({}, {0})), end, number(ops::int64s({}, {1}))});
    if (inner != ir::DType::i64) along = node("Cast", {along}, type_of("to", inner));
    along = node("Mul", {along, write(slope, inner)});
    std::vector<int64_t> to(rank - axis, 1);
    to[0] = -1;
    if (to.size() > 1)
      along = node("Reshape", {along, number(ops::int64s({static_cast<int64_t>(to.size())}, to))});
    sum = node("Add", {along, sum});
  }
  if (rank == 0) sum = node("Squeeze", {sum});
  if (rank > 0) sum = node("Expand", {sum, shape(*extents)});
  return inner == family.dtype ? sum : node("Cast", {sum}, type_of("to", family.dtype));
}

// Ones on a diagonal.
std::optional<ValueId> Recorder::Tracing::identity(const Family& family) {
  if (family.shapes[0].size() != 2) return std::nullopt;
  std::optional<int64_t> diagonal;
  for (size_t t = 0; t < family.shapes.size(); ++t) {
    const int64_t columns = family.shapes[t][1];
    for (int64_t i = 0; i < count_of(family.shapes[t]); ++i) {
      const double value = element(family.dtype, family.elements[t], i);
      const int64_t place = i % columns - i / columns;
      if (value == 1 && !diagonal) diagonal = place;
      if (value != (diagonal == place ? 1 : 0)) return std::nullopt;
    }
  }
  const auto extents = shape_of(family);
  if (!extents || !diagonal) return std::nullopt;
  const ValueId zeros =
      node("ConstantOfShape", {shape(*extents)}, {{"value", scalar_of(family.dtype, {1}, 0)}});
  ops::Attributes attributes = type_of("dtype", family.dtype);
  attributes["k"] = *diagonal;
  return node("EyeLike", {zeros}, attributes);
}

Result<ValueId> Recorder::Tracing::elements_of(const Family& family) {
  if (auto made = filled(family)) return *made;
  if (auto made = ramp(family)) return *made;
  if (auto made = identity(family)) return *made;
  return fail_at(cat("a tensor of shape ", text_of(family.shapes[0])),
                 std::string(unknown_elements), std::string(hint));
}

// A list of whole numbers that are parts of shapes.
std::optional<ValueId> Recorder::Tracing::shape_like(const Family& family, bool reshapes) {
  const bool integers = family.dtype == ir::DType::i64 || family.dtype == ir::DType::i32;
  if (!integers || family.shapes[0].size() > 1) return std::nullopt;
  for (const auto& shape : family.shapes)
    if (shape != family.shapes[0]) return std::nullopt;
  std::vector<ValueId> parts;
  size_t open = 0;
  for (int64_t i = 0; i < count_of(family.shapes[0]); ++i) {
    std::vector<int64_t> numbers;
    for (const auto& elements : family.elements)
      numbers.push_back(static_cast<int64_t>(element(family.dtype, elements, i)));
    auto found = examples_.whole(numbers);
    // Reshape finds one extent itself, such as that of patches of an image.
    if (reshapes && (!found || found->denominator != 1)) {
      if (++open > 1 && !found) return std::nullopt;
      found = open == 1 ? Formula{.offset = -1} : found;
    }
    if (!found) return std::nullopt;
    parts.push_back(write(*found));
  }
  ValueId made = parts.size() == 1 ? parts[0] : node("Concat", parts, axis_of(0));
  if (family.shapes[0].empty()) made = node("Squeeze", {made});
  return family.dtype == ir::DType::i64 ? made : node("Cast", {made}, type_of("to", family.dtype));
}

Result<ValueId> Recorder::Tracing::constant_of(size_t at, size_t input) {
  std::vector<const ops::TensorData*> all;
  for (const Program& program : programs_) {
    const Use& use =
        at < program.nodes.size() ? program.nodes[at].inputs[input] : program.wanted[input];
    all.push_back(&recorder_.constants_[static_cast<size_t>(use.at)]);
  }
  const ops::TensorData& first = *all[0];
  const bool same = std::ranges::all_of(all, [&](const ops::TensorData* data) {
    return data->shape == first.shape && data->bytes == first.bytes;
  });
  if (same) return number(first);
  Family family{first.dtype, {}, {}};
  for (const ops::TensorData* data : all) {
    if (data->dtype != first.dtype || data->shape.size() != first.shape.size())
      return fail_at("a constant", "its rank follows from the extents", std::string(hint));
    family.shapes.push_back(data->shape);
    family.elements.emplace_back(data->bytes);
  }
  const bool reshapes = at < programs_[0].nodes.size() &&
                        name_of(programs_[0].nodes[at].operation) == "[Reshape]" && input == 1;
  if (auto made = shape_like(family, reshapes)) return *made;
  auto made = elements_of(family);
  if (!made && at < programs_[0].nodes.size())
    made.error().where = cat(name_of(programs_[0].nodes[at].operation), " of ", made.error().where);
  return made;
}

Result<ValueId> Recorder::Tracing::value_of(const Use& use, size_t at, size_t input) {
  switch (use.kind) {
    case Use::feed:
      return feeds_[static_cast<size_t>(use.at)];
    case Use::constant:
      return constant_of(at, input);
    case Use::made:
      return values_[static_cast<size_t>(use.at)][use.output];
    default:
      return no_value;
  }
}

Result<> Recorder::Tracing::add_ports() {
  feeds_.assign(programs_[0].feeds.size(), no_value);
  for (size_t port = 0; port < traced_.ports.size(); ++port) {
    const Traced::Port& given = traced_.ports[port];
    graph::Value value;
    value.name = given.name;
    value.dtype = given.spec.dtype;
    value.shape_known = true;
    for (const int64_t extent : given.spec.shape) value.shape.push_back(ir::index(extent));
    for (size_t dim = 0; dim < traced_.dims.size(); ++dim) {
      for (const auto& [at, axis] : traced_.dims[dim].places)
        if (at == port) value.shape[axis] = symbols_[dim];
    }
    ports_.push_back(made_.add_value(std::move(value)));
    made_.inputs.push_back(ports_.back());
    if (given.feed >= 0) feeds_[static_cast<size_t>(given.feed)] = ports_.back();
  }
  return {};
}

Result<> Recorder::Tracing::add_feeds() {
  for (size_t at = 0; at < feeds_.size(); ++at) {
    if (feeds_[at] != no_value) continue;
    const Traced::Feed& given = traced_.feeds[at];
    const Spec& first = spec_at(programs_[0].feeds[at]);
    Family family{first.dtype, {}, given.elements};
    for (const Program& program : programs_) {
      const Spec& spec = spec_at(program.feeds[at]);
      if (spec.dtype != first.dtype || spec.shape.size() != first.shape.size())
        return fail_at(cat("\"", given.name, "\""), "its type or rank follows from the extents",
                       std::string(hint));
      family.shapes.push_back(spec.shape);
    }
    const auto& bytes = family.elements;
    bool same = true;
    for (size_t t = 1; t < family.shapes.size(); ++t)
      same = same && family.shapes[t] == family.shapes[0] &&
             (bytes.size() == 1 || std::ranges::equal(bytes[t], bytes[0]));
    if (!same) {
      if (bytes.size() != family.shapes.size())
        return fail_at(cat("\"", given.name, "\""), "its shape follows from the extents",
                       std::string(hint));
      GS_ASSIGN(feeds_[at], elements_of(family));
      continue;
    }
    const ValueId id = number({family.dtype, family.shapes[0], {bytes[0].begin(), bytes[0].end()}});
    made_.values[id].name = given.name;
    made_.values[id].part = given.learnt ? graph::Part::parameter : graph::Part::fixed;
    feeds_[at] = id;
    if (given.learnt && traced_.opens_parameters) made_.inputs.push_back(id);
  }
  return {};
}

// A gradient that ONNX's own operator takes, too.
bool Recorder::Tracing::is_plain_gradient(const Node& node) const {
  const Operation& known = recorder_.operations_[static_cast<size_t>(node.operation)];
  return known.xs > 0 && node.inputs.size() == static_cast<size_t>(known.xs) + 1;
}

std::vector<ValueId> Recorder::Tracing::gradient(const Node& node, std::vector<ValueId> inputs) {
  graph::Node one;
  one.def = graph::gradient_op(graph::training_domain, "Gradient");
  one.name = cat("n", made_.nodes.size());
  // The values of the tensors, and the tensors, and what the gradient is of.
  const std::vector<ValueId> xs(inputs.begin(), inputs.end() - 1);
  one.inputs = xs;
  one.inputs.insert(one.inputs.end(), inputs.begin(), inputs.end());
  one.attributes = {{"count", static_cast<int64_t>(xs.size())}};
  for (size_t i = 0; i < node.outputs; ++i) {
    graph::Value value;
    value.name = cat("v", made_.values.size());
    one.outputs.push_back(made_.add_value(std::move(value)));
  }
  made_.nodes.push_back(one);
  return one.outputs;
}

Result<> Recorder::Tracing::add_nodes() {
  const Program& program = programs_[0];
  for (size_t at = 0; at < program.nodes.size(); ++at) {
    const Node& one = program.nodes[at];
    std::vector<ValueId> inputs;
    for (size_t i = 0; i < one.inputs.size(); ++i) {
      GS_ASSIGN(const ValueId id, value_of(one.inputs[i], at, i));
      inputs.push_back(id);
    }
    if (is_plain_gradient(one)) {
      values_.push_back(gradient(one, std::move(inputs)));
      continue;
    }
    values_.push_back(recorder_.write_node(made_, static_cast<size_t>(one.operation),
                                           std::move(inputs), one.outputs));
  }
  return {};
}

Result<> Recorder::Tracing::add_outputs() {
  const Program& program = programs_[0];
  for (size_t i = 0; i < program.wanted.size(); ++i) {
    GS_ASSIGN(const ValueId id, value_of(program.wanted[i], program.nodes.size(), i));
    Family family{spec_at(program.specs[i]).dtype, {}, {}};
    for (const Program& each : programs_) family.shapes.push_back(spec_at(each.specs[i]).shape);
    graph::Value output;
    output.name = traced_.outputs[i];
    output.dtype = family.dtype;
    output.shape_known = true;
    for (size_t axis = 0; axis < family.shapes[0].size(); ++axis) {
      std::vector<int64_t> numbers;
      for (const auto& shape : family.shapes) {
        if (shape.size() != family.shapes[0].size())
          return fail_at(cat("\"", output.name, "\""), "its rank follows from the extents",
                         std::string(hint));
        numbers.push_back(shape[axis]);
      }
      const bool fixed = std::ranges::all_of(numbers, [&](int64_t n) { return n == numbers[0]; });
      const auto formula = examples_.whole(numbers);
      const int dim = formula ? formula->dimension() : Formula::none;
      output.shape.push_back(fixed      ? ir::index(numbers[0])
                             : dim >= 0 ? symbols_[static_cast<size_t>(dim)]
                                        : ir::Expr(ir::var(cat(output.name, "_", axis))));
    }
    recorder_.add_output(made_, id, std::move(output));
  }
  return {};
}

Result<graph::Graph> Recorder::traced(const Traced& given) const {
  return Tracing::graph(*this, given);
}

}  // namespace gossamer::tensor
