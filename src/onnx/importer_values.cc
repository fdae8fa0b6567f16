// Names, constants, attributes and shapes of inputs of the importer.
#include "ir/build.h"
#include "onnx/importer.h"
#include "onnx/order.h"

namespace gossamer::onnx {
namespace {

using graph::ValueId;
using stages::ConstantSource;

std::vector<std::string> owned(const std::vector<std::string_view>& names) {
  return {names.begin(), names.end()};
}

}  // namespace

Result<ImportNode> Importer::convert(const ProtoNode& proto, const Scope& scope) {
  ImportNode node;
  node.op = proto.op;
  node.domain = proto.domain == "ai.onnx" ? "" : proto.domain;
  node.name = node_name(proto);
  node.inputs = owned(proto.inputs);
  node.outputs = owned(proto.outputs);
  for (const ProtoAttribute& attribute : proto.attributes) {
    std::string name(attribute.name);
    if (!attribute.reference.empty()) {
      // An attribute that the function's call does not give is absent here, too.
      if (!scope.call)
        return fail(cat("attribute `", name, "` refers to a function's, outside one"));
      auto given = scope.call->find(attribute.reference);
      if (given != scope.call->end()) node.attributes[name] = given->second;
      continue;
    }
    if (node.attributes.contains(name) || node.bodies.contains(name)) {
      return fail(cat("has the attribute `", name, "` twice"));
    }
    if (attribute.kind == ProtoAttribute::graph && !attribute.bodies.empty()) {
      node.bodies[name] = attribute.bodies.front().get();
      continue;
    }
    // Optional says what it may hold, which its output shows.
    if (attribute.kind == ProtoAttribute::type && node.op == "Optional") continue;
    // A large constant stays in the file.
    if (node.op == "Constant" && (attribute.data || attribute.sparse)) continue;
    auto value = convert(attribute);
    if (!value) {
      return fail(cat("attribute `", name, "` ", value.error().message), value.error().hint);
    }
    node.attributes[name] = std::move(*value);
  }
  return node;
}

Result<ops::Attribute> Importer::convert(const ProtoAttribute& attribute) {
  switch (attribute.kind) {
    case ProtoAttribute::real:
      return attribute.number;
    case ProtoAttribute::integer:
      return attribute.value;
    case ProtoAttribute::text:
      return std::string(attribute.string);
    case ProtoAttribute::reals:
      return attribute.numbers;
    case ProtoAttribute::integers:
      return attribute.values;
    case ProtoAttribute::texts:
      return owned(attribute.strings);
    case ProtoAttribute::tensor: {
      if (!attribute.data) return fail("has no value");
      GS_ASSIGN(ConstantSource source, constant_of(*attribute.data));
      auto bytes = bytes_of(source, bytes_);
      if (!bytes) return fail("lies in an external file, which is not supported for attributes");
      ops::TensorData data{
          source.dtype, source.shape, {bytes->begin(), bytes->end()}, source.strings};
      if (source.packed > 1) {
        const auto count = static_cast<uint64_t>(data.element_count());
        data.bytes = unpack(*bytes, source.dtype, count);
      }
      return data;
    }
    default:
      return fail("is of a kind that is not supported");
  }
}

Result<ConstantSource> Importer::constant_of(const ProtoTensor& tensor) {
  // External files of every graph are listed in the outermost one.
  TensorSource source{bytes_, &graph_.files, options_.copy_limit, options_.external};
  return read_tensor(tensor, source);
}

Result<ConstantSource> Importer::constant_of(const ProtoSparse& tensor) {
  const TensorSource source{bytes_, &graph_.files, options_.copy_limit, options_.external};
  return read_sparse(tensor, source, sparse_room_);
}

Result<> Importer::define(Scope& scope, const std::string& name, ValueId id) {
  if (name.empty()) return fail("has no name");
  if (!scope.values.emplace(name, id).second) {
    return fail(cat("makes the value \"", name, "\" a second time"));
  }
  return {};
}

ValueId Importer::add_constant(Scope& scope, std::string name, ConstantSource source) {
  graph::Value value;
  value.name = scope.prefix + name;
  value.dtype = source.dtype;
  for (int64_t extent : source.shape) value.shape.push_back(ir::index(extent));
  value.shape_known = true;
  value.constant = std::move(source);
  ValueId id = scope.graph->add_value(std::move(value));
  scope.values[std::move(name)] = id;
  return id;
}

std::optional<ValueId> Importer::find(Scope& scope, std::string_view name) const {
  auto found = scope.values.find(name);
  if (found != scope.values.end()) return found->second;
  if (!scope.parent) return std::nullopt;
  auto outer = find(*scope.parent, name);
  if (!outer || *outer == graph::no_value) return outer;
  const graph::Value& around = scope.parent->graph->values[*outer];
  graph::Value value;
  value.name = around.name;
  value.dtype = around.dtype;
  ValueId inner = scope.graph->add_value(std::move(value));
  scope.graph->captures.push_back({*outer, inner});
  scope.values.emplace(std::string(name), inner);
  return inner;
}

ValueFacts Importer::facts(const Scope& scope, std::string_view name) const {
  if (name.empty()) return {};
  auto value = scope.values.find(name);
  if (value != scope.values.end() && value->second == graph::no_value) return {};
  if (value != scope.values.end()) {
    const auto& constant = scope.graph->values[value->second].constant;
    if (constant) {
      bool at_hand = constant->file < 0;
      return {constant->dtype, static_cast<int>(constant->shape.size()),
              at_hand ? &*constant : nullptr};
    }
  }
  auto known = scope.facts.find(name);
  if (known != scope.facts.end()) return known->second;
  return scope.parent ? facts(*scope.parent, name) : ValueFacts();
}

UpgradeScope Importer::upgrade_scope(Scope& scope) {
  UpgradeScope around;
  around.facts = [this, &scope](const std::string& name) { return facts(scope, name); };
  around.new_name = [this] { return cat("upgraded.", ++fresh_); };
  around.add_constant = [this, &scope](ops::TensorData data) {
    std::string name = cat("upgraded.", ++fresh_);
    ConstantSource source;
    source.dtype = data.dtype;
    source.shape = data.shape;
    source.bytes = std::move(data.bytes);
    source.strings = std::move(data.strings);
    add_constant(scope, name, std::move(source));
    return name;
  };
  return around;
}

namespace {

// What runs are likely to have: one element in a batch, images of 224 x 224, sequences of 128.
int64_t likely_extent(const std::vector<ProtoDim>& dims, size_t axis) {
  constexpr int64_t image = 224;
  const auto open = [&](size_t at) { return !dims[at].value || *dims[at].value < 0; };
  if (axis == 0 && dims.size() > 1) return 1;
  if (dims.size() != 4) return ir::default_estimate;
  const bool first = open(2) && open(3) && axis >= 2;             // [n, c, h, w]
  const bool last = open(1) && open(2) && !open(3) && axis <= 2;  // [n, h, w, c]
  return first || last ? image : ir::default_estimate;
}

}  // namespace

Result<std::vector<ir::Expr>> Importer::input_shape(const ProtoValue& input,
                                                    const std::string& input_name, Scope& scope) {
  std::vector<ProtoDim> dims = input.dims;
  // Elements of a sequence differ in shape.
  if (input.is_sequence) {
    for (ProtoDim& dim : dims) dim.param = {};
  }
  // An element's own shape, or that of all.
  auto fixed = options_.known.shapes.find(input_name);
  if (fixed == options_.known.shapes.end()) fixed = options_.known.shapes.find(input.name);
  if (fixed != options_.known.shapes.end()) {
    if (input.has_shape && dims.size() != fixed->second.size()) {
      return fail(
          cat("has ", dims.size(), " dimensions, the given shape has ", fixed->second.size()));
    }
    dims.resize(fixed->second.size());
    for (size_t i = 0; i < dims.size(); ++i) {
      if (fixed->second[i] >= 0) dims[i].value = fixed->second[i];
    }
  } else if (!input.has_shape) {
    return fail("has no shape; its number of dimensions must be known when compiling",
                "give its shape: --shape (shapes)");
  }
  if (dims.size() > 64) return fail(cat("has ", dims.size(), " dimensions"));
  int index = static_cast<int>(scope.graph->inputs.size());
  std::vector<ir::Expr> shape;
  int64_t product = 1;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    ProtoDim dim = dims[axis];
    std::string name = name_of_dim(dim, input_name, axis);
    if (auto fixed = options_.known.dims.find(name);
        !dim.value && fixed != options_.known.dims.end()) {
      dim.value = fixed->second;
    }
    if (dim.value && *dim.value >= 0) {
      constexpr int64_t limit = int64_t{1} << 40;
      if (*dim.value > limit / product) {
        return fail(
            cat("has a dimension of ", *dim.value, ": more elements than any machine holds"));
      }
      product *= std::max<int64_t>(*dim.value, 1);
      shape.push_back(ir::index(*dim.value));
      continue;
    }
    auto [known, fresh] = dims_.try_emplace(name);
    if (!fresh && dim.param.empty()) {
      // A name of ours that the model has used for something else.
      while (!fresh) std::tie(known, fresh) = dims_.try_emplace(name += "_");
    }
    if (fresh) {
      known->second = ir::dimension(name, likely_extent(dims, axis));
      scope.graph->dims.push_back({known->second, index, static_cast<int>(axis)});
    }
    shape.push_back(known->second);
  }
  return shape;
}

}  // namespace gossamer::onnx
