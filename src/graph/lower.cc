// From nodes to stages: runs every node's definition in order, with shapes and host values flowing
// along.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "graph/control_flow.h"
#include "graph/fuse_quantized.h"
#include "graph/lowering.h"
#include "graph/unpack.h"
#include "ir/build.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "ir/scalar.h"
#include "ops/builder.h"
#include "ops/host_value.h"

namespace gossamer::graph {
namespace {

constexpr int64_t max_elements = int64_t{1} << 40;
constexpr size_t max_extent_size = 1000;    // nodes of an expression for a dimension or host value
constexpr size_t max_stage_size = 200'000;  // nodes of an element's expression
constexpr int64_t max_dim = (int64_t{1} << 31) - 1;

// The bytes of a host value all of whose elements are numbers.
std::optional<std::vector<std::byte>> host_bytes(const Tensor& tensor) {
  size_t size = static_cast<size_t>(ir::byte_size(tensor.dtype()));
  std::vector<std::byte> bytes(tensor.host->size() * size);
  for (size_t i = 0; i < tensor.host->size(); ++i) {
    const Expr& element = (*tensor.host)[i];
    auto whole = ir::as_int(element);
    auto number = ir::as_float(element);
    if (!number) return std::nullopt;
    ir::write_scalar(whole ? ir::Scalar::of_int(tensor.dtype(), *whole)
                           : ir::Scalar::of_float(tensor.dtype(), *number),
                     &bytes[i * size]);
  }
  return bytes;
}

std::string shape_text(const std::vector<Expr>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + ir::print(shape[i]);
  return text + "]";
}

// Counts the nodes of an expression, shared ones each time, up to `limit`: a model may square a
// dimension again and again.
size_t size_of(const Expr& expr, size_t limit) {
  std::vector<const ir::Node*> rest{expr.get()};
  size_t count = 0;
  while (!rest.empty() && count < limit) {
    const ir::Node* node = rest.back();
    rest.pop_back();
    ++count;
    ir::dispatch(*node, [&]<class T>(const T& concrete) {
      ir::visit_fields(concrete, [&]<class F>(const char*, const F& field) {
        if constexpr (std::is_same_v<F, Expr>) rest.push_back(field.get());
        if constexpr (std::is_same_v<F, std::vector<Expr>>) {
          for (const Expr& part : field) rest.push_back(part.get());
        }
      });
    });
  }
  return count;
}

// A buffer that was just made, before anybody refers to its name.
void rename(const ir::Buffer& buffer, std::string name) {
  const_cast<ir::BufferNode*>(buffer.get())->name = std::move(name);
}

}  // namespace

std::string Lowering::unique(std::unordered_set<std::string>& taken, std::string name) {
  std::string result = name;
  for (int i = 2; !taken.insert(result).second; ++i) result = cat(name, "#", i);
  return result;
}

Tensor Lowering::add_constant(std::string name, ConstantSource source) {
  if (source.dtype == ir::DType::string) {
    const auto part = [&](const std::string& part_name, ops::TensorData data) {
      ConstantSource plain;
      plain.dtype = data.dtype;
      plain.shape = std::move(data.shape);
      plain.bytes = std::move(data.bytes);
      return add_constant(part_name, std::move(plain)).buffer;
    };
    ops::StringsData parts =
        ops::split_strings({source.dtype, source.shape, {}, std::move(source.strings)});
    Tensor tensor;
    tensor.bytes = part(name, std::move(parts.bytes));
    tensor.lengths = part(name + ".lengths", std::move(parts.lengths));
    tensor.buffer = ir::buffer(name, ir::DType::string, tensor.lengths->shape);
    return tensor;
  }
  name = unique(constant_names_, std::move(name));
  std::vector<Expr> shape;
  for (int64_t extent : source.shape) shape.push_back(ir::index(extent));
  Tensor tensor{ir::buffer(name, source.dtype, std::move(shape)), std::nullopt};
  if (source.file < 0) tensor.host = ops::host_elements(source.dtype, source.bytes);
  if (source.packed > 1) {
    const auto words = static_cast<int64_t>(source.length);
    const std::string packed_name = unique(constant_names_, name + ".packed");
    const ir::Buffer words_buffer = ir::buffer(packed_name, ir::DType::u8, {ir::index(words)});
    out_.program.push_back(unpack_stage(words_buffer, tensor.buffer, source.packed));
    source.dtype = ir::DType::u8;
    source.shape = {words};
    source.packed = 1;
    out_.constants.push_back({packed_name, words_buffer, std::move(source)});
    return tensor;
  }
  out_.constants.push_back({std::move(name), tensor.buffer, std::move(source)});
  return tensor;
}

void Lowering::add_constants(const Graph& graph, Values& values) {
  values.resize(graph.values.size());
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const Value& value = graph.values[i];
    if (value.constant) values[i] = add_constant(value.name, *value.constant);
  }
}

// A tensor of strings is two inputs: the numbers of those behind it are greater than the model's.
Result<> Lowering::add_inputs(const Graph& graph, Values& values) {
  std::vector<int> numbers;
  for (ValueId id : graph.inputs) {
    const Value& value = graph.values[id];
    if (!value.shape_known) return fail_at(cat("input \"", value.name, "\""), "has no shape");
    const auto number = static_cast<int>(out_.inputs.size());
    numbers.push_back(number);
    Tensor tensor{ir::buffer(value.name, value.dtype, value.shape), std::nullopt};
    if (value.dtype != ir::DType::string) {
      out_.inputs.push_back({value.name, tensor.buffer});
      values[id] = std::move(tensor);
      continue;
    }
    const ir::Var width = ir::var(value.name + ".width");
    bounds_.set(width.get(), {1, max_dim});
    std::vector<Expr> wide = value.shape;
    wide.push_back(width);
    out_.dims.push_back({width, number, static_cast<int>(value.shape.size())});
    tensor.bytes = ir::buffer(value.name, ir::DType::u8, std::move(wide));
    tensor.lengths = ir::buffer(value.name + ".lengths", ir::DType::i32, value.shape);
    out_.inputs.push_back({value.name, tensor.bytes, true});
    out_.inputs.push_back({value.name + ".lengths", tensor.lengths});
    values[id] = std::move(tensor);
  }
  out_.groups = graph.groups;
  // Those of the graph stand first.
  std::vector<Dim> dims;
  for (const Dim& dim : graph.dims)
    dims.push_back({dim.var, numbers[static_cast<size_t>(dim.input)], dim.axis});
  out_.dims.insert(out_.dims.begin(), dims.begin(), dims.end());
  return {};
}

// A sequence is an output an element, and strings are two.
Result<> Lowering::add_outputs(const Graph& graph, const Values& values) {
  int count = 0;
  const auto add = [&](const std::string& name, const Tensor& tensor) {
    ++count;
    if (tensor.dtype() == ir::DType::string) {
      out_.outputs.push_back({name, tensor.bytes, true});
      out_.outputs.push_back({name + ".lengths", tensor.lengths});
    } else {
      out_.outputs.push_back({name, tensor.buffer});
    }
  };
  for (ValueId id : graph.outputs) {
    const Item& item = values[id];
    const std::string& name = graph.values[id].name;
    GS_CHECK(item, "output ", name, " was not made");
    if (item.tensor) {
      add(name, item.tensor);
      continue;
    }
    const int first = count;
    for (size_t i = 0; i < item.elements.size(); ++i) add(element_name(name, i), item.elements[i]);
    out_.groups.push_back({name, item.is_sequence(), true, first, count - first});
  }
  return {};
}

Result<StageGraph> Lowering::run(const Graph& graph) {
  out_.name = graph.name;
  for (const Dim& dim : graph.dims) {
    bounds_.set(dim.var.get(), {1, max_dim});
    const Value& input = graph.values[graph.inputs[static_cast<size_t>(dim.input)]];
    out_.checks.push_back({Expr(dim.var) >= 1.0, cat("input \"", input.name, "\": dimension ",
                                                     dim.axis, " (", dim.var->name, ") is empty")});
  }
  Values values;
  add_constants(graph, values);
  GS_TRY(add_inputs(graph, values));
  GS_TRY(lower_nodes(graph, values));
  GS_TRY(add_outputs(graph, values));
  drop_dead(out_);
  return std::move(out_);
}

Result<> Lowering::lower_nodes(const Graph& graph, Values& values) {
  for (const Node& node : graph.nodes) {
    std::string place = cat("[", node.def->name, "] \"", node.name, "\"");
    for (ValueId id : node.inputs) {
      if (id == no_value) continue;
      GS_CHECK(values[id], place, " reads ", graph.values[id].name, " before it is made");
    }
    if (node.def == control_flow_op(node.def->name)) {
      GS_TRY(lower_control(node, values));
      continue;
    }
    std::vector<Item> inputs;
    for (ValueId id : node.inputs) inputs.push_back(id == no_value ? Item() : known(values[id]));
    ops::Builder builder(*node.def, node.name, std::move(inputs), node.attributes,
                         static_cast<int>(node.outputs.size()));
    builder.catalog = &catalog_;
    builder.bounds = bounds_;
    offer_regions(node, values, builder);
    if (auto defined = builder.define(); !defined) {
      Diagnostic error = std::move(defined).error();
      if (error.where.empty()) error.where = place;
      return std::unexpected(std::move(error));
    }
    size_t first_stage = out_.program.size();
    GS_TRY(take_stages(builder, graph, node));
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      Item made = std::move(builder.outputs[i]);
      if (const auto item = builder.items.find(static_cast<int>(i)); item != builder.items.end())
        made = std::move(item->second);
      if (made.tensor) settle_output(made.tensor, first_stage);
      for (Tensor& element : made.elements) settle_output(element, first_stage);
      if (node.outputs[i] != no_value) values[node.outputs[i]] = std::move(made);
    }
  }
  return {};
}

Result<> Lowering::take_stages(ops::Builder& builder, const Graph& graph, const Node& node) {
  std::string place = cat("[", node.def->name, "] \"", node.name, "\"");
  std::string origin = unique(origins_, cat(node.def->name, " \"", node.name, "\""));
  std::unordered_map<const ir::BufferNode*, std::string> names;
  for (size_t i = node.outputs.size(); i-- > 0;) {
    if (node.outputs[i] == no_value) continue;
    const std::string& name = graph.values[node.outputs[i]].name;
    const auto name_tensor = [&](const Tensor& tensor, const std::string& called) {
      if (!tensor) return;
      const bool strings = tensor.dtype() == ir::DType::string;
      names[(strings ? tensor.bytes : tensor.buffer).get()] = called;
      if (strings) names[tensor.lengths.get()] = called + ".lengths";
    };
    name_tensor(builder.outputs[i], name);
    const auto item = builder.items.find(static_cast<int>(i));
    if (item == builder.items.end()) continue;
    for (size_t k = item->second.elements.size(); k-- > 0;)
      name_tensor(item->second.elements[k], element_name(name, k));
  }
  std::unordered_set<const ir::BufferNode*> settled;
  auto settle_name = [&](const ir::Buffer& buffer) {
    if (!settled.insert(buffer.get()).second) return;
    auto found = names.find(buffer.get());
    rename(buffer, found != names.end() ? found->second : cat(node.name, "/", buffer->name));
  };
  for (ops::Builder::Constant& constant : builder.constants) {
    settle_name(constant.buffer);
    ConstantSource source;
    source.dtype = constant.data.dtype;
    source.shape = std::move(constant.data.shape);
    source.bytes = std::move(constant.data.bytes);
    std::string name = unique(constant_names_, constant.buffer->name);
    out_.constants.push_back({std::move(name), constant.buffer, std::move(source)});
  }
  const std::vector<int> blocks = ops::blocks_of(builder.program);
  for (size_t i = 0; i < builder.program.size(); ++i) {
    ops::Entry& entry = builder.program[i];
    if (ops::Stage* stage = entry.stage()) {
      GS_TRY(check_size(*stage, place));
      stage->origin = origin;
      settle_name(stage->output);
      GS_TRY(check_count(*stage, place));
    } else if (entry.is(ops::StepKind::read) && blocks[i] == 0) {
      const ops::Step& step = *entry.step();
      reads_[step.from.get()] = {step.from, {step.variables.begin(), step.variables.end()}};
    }
    out_.program.push_back(std::move(entry));
  }
  for (ops::Builder::Check& check : builder.checks) {
    add_check(std::move(check.condition), std::move(check.message));
  }
  return {};
}

// What a step read before is known to all that follows it in its block.
Tensor Lowering::known(Tensor tensor) const {
  if (!tensor || tensor.host) return tensor;
  if (const auto found = reads_.find(tensor.buffer.get()); found != reads_.end())
    tensor.host = found->second.second;
  return tensor;
}

Item Lowering::known(Item item) const {
  item.tensor = known(std::move(item.tensor));
  for (Tensor& element : item.elements) element = known(std::move(element));
  return item;
}

// Dimensions of inputs are known before a run; other variables when their step has run.
void Lowering::add_check(Expr condition, std::string message, Expr elements) {
  bool early = true;
  ir::visit(condition, [&](const Expr& e) {
    if (const auto* var = ir::as<ir::VarNode>(e)) {
      early = early &&
              std::ranges::any_of(out_.dims, [&](const Dim& dim) { return dim.var.get() == var; });
    }
    return true;
  });
  if (early) {
    out_.checks.push_back({std::move(condition), std::move(message), std::move(elements)});
  } else {
    out_.program.emplace_back(
        ops::check_step(std::move(condition), std::move(message), std::move(elements)));
  }
}

bool Lowering::same_shape(const std::vector<Expr>& a, const std::vector<Expr>& b) const {
  return std::ranges::equal(
      a, b, [&](const Expr& x, const Expr& y) { return ir::prove_equal(x, y, bounds_); });
}

// An output whose elements are all known becomes a constant; a view of the same shape stands for
// its input.
void Lowering::settle_output(Tensor& tensor, size_t first_stage) {
  if (tensor.host) {
    // Numbers count as nothing: only symbolic elements grow.
    size_t size = 0;
    for (const Expr& element : *tensor.host) size += size_of(element, max_extent_size) - 1;
    if (size + 1 >= max_extent_size) tensor.host.reset();
  }
  for (size_t i = first_stage; i < out_.program.size(); ++i) {
    const ops::Stage* stage = out_.program[i].stage();
    if (!stage || !stage->output.same(tensor.buffer)) continue;
    if (stage->view) {
      std::vector<ir::Buffer> inputs = ops::inputs_of(*stage);
      if (inputs.size() == 1 && inputs[0]->dtype == tensor.dtype() &&
          same_shape(inputs[0]->shape, tensor.shape())) {
        tensor.buffer = inputs[0];
        return;
      }
    }
    if (!tensor.host) return;
    auto bytes = host_bytes(tensor);
    bool known = bytes && std::ranges::all_of(tensor.shape(), [](const Expr& extent) {
                   return ir::as_int(extent).has_value();
                 });
    if (!known) return;
    ConstantSource source;
    source.dtype = tensor.dtype();
    for (const Expr& extent : tensor.shape()) source.shape.push_back(*ir::as_int(extent));
    source.bytes = std::move(*bytes);
    auto host = std::move(tensor.host);
    tensor = add_constant(tensor.buffer->name, std::move(source));
    tensor.host = std::move(host);
    return;
  }
}

Result<> Lowering::check_size(const ops::Stage& stage, const std::string& place) {
  auto check = [&](const std::vector<Expr>& extents) -> Result<> {
    int64_t product = 1;
    for (const Expr& extent : extents) {
      if (auto known = ir::as_int(extent)) {
        if (*known < 0) {
          return fail_at(place, cat("would make a tensor of shape ", shape_text(extents)),
                         "its input is too small, or an attribute is wrong");
        }
        product = *known > max_elements / product ? max_elements + 1
                                                  : product * std::max<int64_t>(*known, 1);
        if (product > max_elements) {
          return fail_at(place, cat("would make a tensor of shape ", shape_text(extents),
                                    ", too large for any device"));
        }
        continue;
      }
      bool has_dimension = false;
      ir::visit(extent, [&](const Expr& part) {
        has_dimension = has_dimension || ir::as<ir::VarNode>(part);
        return !has_dimension;
      });
      if (!has_dimension || bounds_.of(extent).low > max_elements) {
        return fail_at(place, "would make a tensor too large for any device");
      }
      if (size_of(extent, max_extent_size) >= max_extent_size) {
        return fail_at(place, "computes a dimension in too complicated a way");
      }
      // Arithmetic on huge constants may leave 64 bits, where bounds know nothing.
      bool has_huge = false;
      ir::visit(extent, [&](const Expr& part) {
        auto known = ir::as_int(part);
        has_huge = has_huge || (known && (*known > max_elements || *known < -max_elements));
        return !has_huge;
      });
      if (has_huge) return fail_at(place, "would make a tensor too large for any device");
      auto same = [&](const Expr& other) { return ir::equal(other, extent); };
      if (ir::prove(extent >= 0.0, bounds_) || std::ranges::any_of(checked_, same)) continue;
      checked_.push_back(extent);
      add_check(extent >= 0.0, cat(place, ": the model's input is too small"));
    }
    return {};
  };
  size_t size = stage.result ? size_of(stage.result, max_stage_size) : 0;
  for (const Expr& value : stage.values) size += size_of(value, max_stage_size);
  if (size >= max_stage_size) return fail_at(place, "makes an expression too large to compile");
  GS_TRY(check(stage.extents));
  GS_TRY(check(stage.reduce_extents));
  return check(stage.output->shape);
}

// Kernels compute with indices into tensors that fusion has dissolved, too.
Result<> Lowering::check_count(const ops::Stage& stage, const std::string& place) {
  Expr elements = ir::index(1);
  for (const Expr& extent : stage.output->shape) elements = elements * extent;
  elements = ir::simplify(elements, bounds_);
  if (const auto known = ir::as_int(elements); known && *known > most_) {
    return fail_at(place,
                   cat("would make a tensor of ", *known, " elements, \"", stage.output->name,
                       "\", more than this target can count (", most_, ")"),
                   "use smaller inputs");
  }
  if (bounds_.of(elements).high <= most_ ||
      std::ranges::any_of(counted_, [&](const Expr& e) { return ir::equal(e, elements); }))
    return {};
  counted_.push_back(elements);
  add_check(elements <= ir::index(most_),
            cat("tensor \"", stage.output->name, "\" of ", stage.origin), elements);
  return {};
}

Result<StageGraph> lower(const Graph& graph, const ops::Catalog& catalog, int64_t most) {
  const bool quantizes = std::ranges::any_of(
      graph.nodes, [](const Node& node) { return node.def->name == "QuantizeLinear"; });
  if (quantizes) return Lowering(catalog, most).run(fuse_quantized(graph, catalog));
  return Lowering(catalog, most).run(graph);
}

}  // namespace gossamer::graph
