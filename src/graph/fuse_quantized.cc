// Groups of dequantised inputs, an operator, and a quantised output.
#include "graph/fuse_quantized.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ir/scalar.h"
#include "ops/host_value.h"

namespace gossamer::graph {
namespace {

using ir::DType;
using stages::ConstantSource;

bool is_byte(DType dtype) { return dtype == DType::u8 || dtype == DType::i8; }

bool is_standard(const Node& node, std::string_view name) {
  return node.def->domain.empty() && node.def->name == name;
}

int64_t integer(const Node& node, std::string_view name, int64_t fallback) {
  const auto found = node.attributes.find(name);
  if (found == node.attributes.end()) return fallback;
  const auto* value = std::get_if<int64_t>(&found->second);
  return value ? *value : fallback;
}

double number(const Node& node, std::string_view name, double fallback) {
  const auto found = node.attributes.find(name);
  if (found == node.attributes.end()) return fallback;
  const auto* value = std::get_if<double>(&found->second);
  return value ? *value : fallback;
}

// A tensor of integers and what turns it into real numbers.
struct Quantized {
  ValueId integers = no_value, scale = no_value, zero_point = no_value;
  DType dtype = DType::u8;
  int64_t axis = 1;
};

class Fusion {
 public:
  Fusion(Graph graph, const ops::Catalog& catalog) : graph_(std::move(graph)), catalog_(catalog) {}

  Graph run() {
    find_makers();
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (is_standard(graph_.nodes[i], "QuantizeLinear")) fuse(i);
    }
    // The makers of what nobody reads any more.
    std::erase_if(graph_.nodes, [&](const Node& node) {
      return std::ranges::any_of(node.outputs, [&](ValueId id) { return replaced_.contains(id); });
    });
    return std::move(graph_);
  }

 private:
  void find_makers() {
    makers_.assign(graph_.values.size(), -1);
    uses_.assign(graph_.values.size(), 0);
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      for (ValueId id : node.outputs)
        if (id != no_value) makers_[id] = static_cast<int>(i);
      for (ValueId id : node.inputs)
        if (id != no_value) ++uses_[id];
      for (const auto& region : node.regions) {
        if (!region) continue;
        for (const Capture& capture : region->captures) ++uses_[capture.outer];
      }
    }
    for (ValueId id : graph_.outputs) ++uses_[id];
  }

  // Null for values that no node makes, new ones among them.
  const Node* maker(ValueId id) const {
    if (id >= makers_.size() || makers_[id] < 0) return nullptr;
    return &graph_.nodes[static_cast<size_t>(makers_[id])];
  }
  ValueId input(const Node& node, size_t i) const {
    return i < node.inputs.size() ? node.inputs[i] : no_value;
  }

  // Behind nodes that change nothing.
  ValueId source(ValueId id) const {
    while (const Node* node = id == no_value ? nullptr : maker(id)) {
      if (is_standard(*node, "Identity")) {
        id = node->inputs[0];
      } else if (is_standard(*node, "Cast")) {
        const auto from = dtype_of(node->inputs[0]);
        if (!from || ops::dtype_of_onnx(integer(*node, "to", 0)) != from) break;
        id = node->inputs[0];
      } else {
        break;
      }
    }
    return id;
  }

  // Where it is known before shapes and types are worked out.
  std::optional<DType> dtype_of(ValueId id) const {
    id = source(id);
    if (id == no_value) return std::nullopt;
    if (const auto fused = fused_.find(id); fused != fused_.end()) return fused->second;
    const Node* node = maker(id);
    if (!node) return graph_.values[id].dtype;
    if (is_standard(*node, "Cast")) return ops::dtype_of_onnx(integer(*node, "to", 0));
    if (!is_standard(*node, "QuantizeLinear")) return std::nullopt;
    if (input(*node, 2) != no_value) return dtype_of(node->inputs[2]);
    return integer(*node, "output_dtype", 0) == 0 ? std::optional(DType::u8) : std::nullopt;
  }

  const ConstantSource* constant(ValueId id) const {
    id = source(id);
    if (id == no_value || !graph_.values[id].constant) return nullptr;
    return &*graph_.values[id].constant;
  }

  // The numbers of a constant that the graph holds.
  std::optional<std::vector<double>> numbers(ValueId id) const {
    const ConstantSource* known = constant(id);
    if (!known || known->file >= 0 || known->dtype == DType::string) return std::nullopt;
    const auto size = static_cast<size_t>(ir::byte_size(known->dtype));
    std::vector<double> values;
    for (size_t at = 0; at + size <= known->bytes.size(); at += size)
      values.push_back(ir::read_scalar(known->dtype, &known->bytes[at]).as_double());
    return values;
  }

  static int64_t count(const ConstantSource& constant) {
    int64_t product = 1;
    for (int64_t extent : constant.shape) product *= extent;
    return product;
  }
  bool is_single(ValueId id) const {
    const ConstantSource* known = constant(id);
    return known && known->shape.size() <= 1 && count(*known) == 1;
  }

  std::optional<Quantized> dequantized(ValueId id) const {
    const Node* node = maker(source(id));
    if (!node || !is_standard(*node, "DequantizeLinear")) return std::nullopt;
    if (integer(*node, "block_size", 0) != 0 || integer(*node, "output_dtype", 0) != 0)
      return std::nullopt;
    Quantized found{source(node->inputs[0]), source(node->inputs[1]), source(input(*node, 2))};
    const ConstantSource* scale = constant(found.scale);
    const auto dtype = dtype_of(found.integers);
    if (!scale || scale->dtype != DType::f32 || scale->shape.size() > 1 || !dtype)
      return std::nullopt;
    if (found.zero_point != no_value && !constant(found.zero_point)) return std::nullopt;
    found.dtype = *dtype;
    found.axis = integer(*node, "axis", 1);
    return found;
  }

  ValueId zeros(DType dtype) {
    ConstantSource zero;
    zero.dtype = dtype;
    zero.bytes.assign(static_cast<size_t>(ir::byte_size(dtype)), std::byte{0});
    Value value{"zero_point", dtype, {}, true, std::move(zero)};
    return graph_.add_value(std::move(value));
  }

  // Whether the node between the operator and its quantised output only cuts off what saturates
  // anyway: quantising is monotonous, so its bounds have to become the least and the largest
  // integer.
  bool saturates(const Node& node, double scale, double zero_point, DType dtype) const {
    const double least = dtype == DType::u8 ? 0 : -128, most = dtype == DType::u8 ? 255 : 127;
    if (is_standard(node, "Identity")) return true;
    if (is_standard(node, "Relu")) return zero_point == least;
    if (!is_standard(node, "Clip")) return false;
    const auto bound = [&](size_t i, double fallback) -> std::optional<double> {
      if (input(node, i) == no_value) return fallback;
      const auto known = numbers(node.inputs[i]);
      return known && known->size() == 1 ? std::optional((*known)[0]) : std::nullopt;
    };
    const auto low = bound(1, -HUGE_VAL), high = bound(2, HUGE_VAL);
    const auto quantized = [&](double real) {
      return std::nearbyint(static_cast<float>(real) / static_cast<float>(scale)) + zero_point;
    };
    return low && high && quantized(*low) <= least && quantized(*high) >= most;
  }

  // Whether `bias` is a vector of integers of the scale that the products have.
  bool is_sum(const Quantized& bias, const std::vector<Quantized>& factors) const {
    if (bias.dtype != DType::i32) return false;
    if (bias.zero_point != no_value) {
      const auto zero = numbers(bias.zero_point);
      if (!zero || std::ranges::any_of(*zero, [](double value) { return value != 0; }))
        return false;
    }
    const auto scales = numbers(bias.scale);
    if (!scales) return false;
    std::vector<std::vector<double>> of;
    size_t longest = scales->size();
    for (const Quantized& factor : factors) {
      auto known = numbers(factor.scale);
      if (!known) return false;
      longest = std::max(longest, known->size());
      of.push_back(std::move(*known));
    }
    const auto at = [](const std::vector<double>& values, size_t i) {
      return values.size() == 1 ? values[0] : i < values.size() ? values[i] : NAN;
    };
    for (size_t i = 0; i < longest; ++i) {
      double product = 1;
      for (const auto& values : of) product *= at(values, i);
      if (!(std::abs(at(*scales, i) - product) <= 1e-5 * std::abs(product))) return false;
    }
    return true;
  }

  // Input `i` of an operator, if it has the form of one of bytes with parameters where it may.
  std::optional<Quantized> operand_of(const Node& node, const ops::QuantizedForm& form,
                                      size_t i) const {
    auto operand = dequantized(node.inputs[i]);
    if (!operand || !is_byte(operand->dtype)) return std::nullopt;
    for (ValueId parameter : {operand->scale, operand->zero_point}) {
      if (parameter == no_value || is_single(parameter)) continue;
      const ConstantSource* whole = constant(operand->integers);
      if (!form.operands[i] || !whole) return std::nullopt;
      const int rank = static_cast<int>(whole->shape.size());
      const int64_t axis = operand->axis < 0 ? operand->axis + rank : operand->axis;
      if (axis != form.operands[i](node.attributes, rank)) return std::nullopt;
    }
    return operand;
  }

  void fuse(size_t place) {
    const Node& quantize = graph_.nodes[place];
    const ValueId scale = source(input(quantize, 1));
    ValueId zero_point = source(input(quantize, 2));
    if (!is_single(scale) || constant(scale)->dtype != DType::f32) return;
    if (zero_point != no_value && !is_single(zero_point)) return;
    for (const char* name : {"output_dtype", "precision", "block_size"})
      if (integer(quantize, name, 0) != 0) return;
    const DType dtype = zero_point == no_value ? DType::u8 : constant(zero_point)->dtype;
    const auto step = numbers(scale);
    const auto zero = zero_point == no_value ? std::vector<double>{0} : numbers(zero_point);
    if (!is_byte(dtype) || !step || !zero) return;

    std::vector<ValueId> between;
    ValueId real = quantize.inputs[0];
    const Node* node = nullptr;
    for (;; real = node->inputs[0]) {
      node = maker(real);
      if (!node || uses_[real] != 1) return;
      between.push_back(real);
      if (!saturates(*node, (*step)[0], (*zero)[0], dtype)) break;
    }
    const std::optional<ops::QuantizedForm>& form = node->def->quantized;
    if (!form || node->inputs.size() < form->operands.size()) return;
    const ops::OpDef* def = catalog_.find(form->domain, form->name);
    if (!def) return;
    for (const char* factor : {"alpha", "beta"})
      if (number(*node, factor, 1) != 1) return;

    std::vector<Quantized> operands;
    for (size_t i = 0; i < form->operands.size(); ++i) {
      const auto operand = operand_of(*node, *form, i);
      if (!operand) return;
      operands.push_back(*operand);
    }
    std::optional<Quantized> bias;
    if (node->inputs.size() > operands.size() && node->inputs.back() != no_value) {
      if (form->addend < 0 || node->inputs.size() > operands.size() + 1) return;
      bias = dequantized(node->inputs.back());
      if (!bias || !is_sum(*bias, operands)) return;
    }

    Node made;
    made.def = def;
    made.name = node->name;
    made.outputs = quantize.outputs;
    for (const auto& [name, value] : node->attributes) {
      if (std::ranges::any_of(def->attributes, [&](const auto& a) { return a.name == name; }))
        made.attributes.emplace(name, value);
    }
    for (const Quantized& operand : operands) {
      const bool has_zero = operand.zero_point != no_value;
      made.inputs.insert(made.inputs.end(), {operand.integers, operand.scale,
                                             has_zero ? operand.zero_point : zeros(operand.dtype)});
    }
    made.inputs.insert(made.inputs.end(),
                       {scale, zero_point == no_value ? zeros(dtype) : zero_point});
    if (form->addend >= 0)
      made.inputs.insert(made.inputs.begin() + form->addend, bias ? bias->integers : no_value);
    replaced_.insert(between.begin(), between.end());
    fused_.emplace(made.outputs[0], dtype);
    graph_.nodes[place] = std::move(made);
  }

  Graph graph_;
  const ops::Catalog& catalog_;
  std::vector<int> makers_;   // of a value: its node, or -1
  std::vector<size_t> uses_;  // of a value
  std::unordered_set<ValueId> replaced_;
  std::unordered_map<ValueId, DType> fused_;  // results of fused nodes
};

}  // namespace

Graph fuse_quantized(Graph graph, const ops::Catalog& catalog) {
  return Fusion(std::move(graph), catalog).run();
}

}  // namespace gossamer::graph
