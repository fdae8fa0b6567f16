#include "lower/lower_node.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "graph/graph.h"
#include "ir/build.h"
#include "ir/scalar.h"
#include "lower/size_checks.h"

namespace gossamer::lower {
namespace {

using stages::ConstantSource;

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

// Gives buffers their names in the model. They were just made: nobody refers to a name yet.
class Renaming {
 public:
  Renaming(const ops::Builder& node, const std::vector<std::optional<std::string>>& output_names)
      : prefix_(node.node_name() + "/") {
    for (size_t i = output_names.size(); i-- > 0;) {
      if (!output_names[i]) continue;
      const std::string& name = *output_names[i];
      call(node.outputs[i], name);
      const auto item = node.items.find(static_cast<int>(i));
      if (item == node.items.end()) continue;
      for (size_t k = item->second.elements.size(); k-- > 0;)
        call(item->second.elements[k], graph::element_name(name, k));
    }
  }

  void rename(const ir::Buffer& buffer) {
    if (!renamed_.insert(buffer.get()).second) return;
    const auto found = names_.find(buffer.get());
    const_cast<ir::BufferNode*>(buffer.get())->name =
        found != names_.end() ? found->second : prefix_ + buffer->name;
  }

 private:
  void call(const Tensor& tensor, const std::string& name) {
    if (!tensor) return;
    const bool strings = tensor.dtype() == ir::DType::string;
    names_[(strings ? tensor.bytes : tensor.buffer).get()] = name;
    if (strings) names_[tensor.lengths.get()] = name + ".lengths";
  }

  std::string prefix_;
  std::unordered_map<const ir::BufferNode*, std::string> names_;
  std::unordered_set<const ir::BufferNode*> renamed_;
};

// Extents made of extents grow with every node: one that grew too large becomes a variable, which a
// step sets before the stage and, where it may be negative, another one checks.
void name_large_extents(stages::Stage& stage, const std::string& place, StageBuilder& stages) {
  ir::BufferNode& output = *const_cast<ir::BufferNode*>(stage.output.get());
  for (std::vector<Expr>* extents : {&output.shape, &stage.extents, &stage.reduce_extents}) {
    for (Expr& extent : *extents) {
      if (size_of(extent, max_extent_size) < max_extent_size) continue;
      extent = stages.named(output.name + ".extent", extent);
      if (ir::prove(extent >= 0.0, stages.bounds)) continue;
      stages.add_check(extent >= 0.0, cat(place, ": the model's input is too small"));
    }
  }
}

Result<> take_stages(ops::Builder& node,
                     const std::vector<std::optional<std::string>>& output_names, int64_t most,
                     const std::string& place, StageBuilder& stages) {
  const std::string origin =
      stages.unique_origin(cat(node.def().name, " \"", node.node_name(), "\""));
  Renaming names(node, output_names);
  for (ops::Builder::Constant& constant : node.constants) {
    names.rename(constant.buffer);
    ConstantSource source;
    source.dtype = constant.data.dtype;
    source.shape = std::move(constant.data.shape);
    source.bytes = std::move(constant.data.bytes);
    stages.add_constant(constant.buffer, std::move(source));
  }
  const std::vector<int> blocks = stages::blocks_of(node.program);
  for (size_t i = 0; i < node.program.size(); ++i) {
    stages::Entry& entry = node.program[i];
    if (stages::Stage* stage = entry.stage()) {
      stage->origin = origin;
      names.rename(stage->output);
      if (blocks[i] == 0) name_large_extents(*stage, place, stages);
      GS_TRY(check_sizes(*stage, most, place, stages));
    } else if (entry.is(stages::StepKind::read) && blocks[i] == 0) {
      const stages::Step& step = *entry.step();
      stages.known.add(step.from, {step.variables.begin(), step.variables.end()});
    }
    stages.append(std::move(entry));
  }
  for (ops::Builder::Check& check : node.checks) {
    stages.add_branch_check(std::move(check.condition), std::move(check.message));
  }
  return {};
}

bool same_shape(const std::vector<Expr>& a, const std::vector<Expr>& b, const ir::Bounds& bounds) {
  return std::ranges::equal(
      a, b, [&](const Expr& x, const Expr& y) { return ir::prove_equal(x, y, bounds); });
}

// A host value that grew too large is none.
void limit_host(Tensor& tensor) {
  if (!tensor.host) return;
  // Numbers count as nothing: only symbolic elements grow.
  size_t size = 0;
  for (const Expr& element : *tensor.host) size += size_of(element, max_extent_size) - 1;
  if (size + 1 >= max_extent_size) tensor.host.reset();
}

// The stage of a node that makes the tensor, among the entries from `first` on.
const stages::Stage* maker_of(const Tensor& tensor, const stages::Program& program, size_t first) {
  for (size_t i = first; i < program.size(); ++i) {
    const stages::Stage* stage = program[i].stage();
    if (stage && stage->output.same(tensor.buffer)) return stage;
  }
  return nullptr;
}

// An output whose elements are all known becomes a constant; a view of the same shape stands for
// its input.
void settle_output(Tensor& tensor, size_t first_stage, StageBuilder& stages) {
  limit_host(tensor);
  const stages::Stage* stage = maker_of(tensor, stages.program(), first_stage);
  if (!stage) return;
  if (stage->view) {
    std::vector<ir::Buffer> inputs = stages::inputs_of(*stage);
    if (inputs.size() == 1 && inputs[0]->dtype == tensor.dtype() &&
        same_shape(inputs[0]->shape, tensor.shape(), stages.bounds)) {
      tensor.buffer = inputs[0];
      return;
    }
  }
  if (!tensor.host) return;
  auto bytes = host_bytes(tensor);
  const bool known = bytes && std::ranges::all_of(tensor.shape(), [](const Expr& extent) {
                       return ir::as_int(extent).has_value();
                     });
  if (!known) return;
  ConstantSource source;
  source.dtype = tensor.dtype();
  for (const Expr& extent : tensor.shape()) source.shape.push_back(*ir::as_int(extent));
  source.bytes = std::move(*bytes);
  auto host = std::move(tensor.host);
  tensor = stages.add_constant(tensor.buffer->name, std::move(source));
  tensor.host = std::move(host);
}

}  // namespace

Result<std::vector<Item>> lower_node(ops::Builder& node,
                                     const std::vector<std::optional<std::string>>& output_names,
                                     int64_t most, StageBuilder& stages) {
  const std::string place = cat("[", node.def().name, "] \"", node.node_name(), "\"");
  node.bounds = stages.bounds;
  if (auto defined = node.define(); !defined) {
    Diagnostic error = std::move(defined).error();
    if (error.where.empty()) error.where = place;
    return std::unexpected(std::move(error));
  }
  const size_t first_stage = stages.program().size();
  GS_TRY(take_stages(node, output_names, most, place, stages));
  std::vector<Item> outputs;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    Item made = std::move(node.outputs[i]);
    if (const auto item = node.items.find(static_cast<int>(i)); item != node.items.end())
      made = std::move(item->second);
    for (Tensor* tensor : made.tensors()) settle_output(*tensor, first_stage, stages);
    outputs.push_back(std::move(made));
  }
  return outputs;
}

}  // namespace gossamer::lower
