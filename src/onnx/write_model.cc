#include "onnx/write_model.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <unordered_set>

#include "graph/control_flow.h"
#include "graph/gradient_op.h"
#include "ir/build.h"
#include "onnx/message.h"
#include "onnx/tensor.h"

namespace gossamer::onnx {
namespace {

using graph::Graph;
using graph::no_value;
using graph::ValueId;
using stages::ConstantSource;

// Fields of ONNX's messages, by their numbers in onnx.proto3.
namespace model_field {
constexpr uint32_t ir_version = 1, producer = 2, graph = 7, opset = 8;
}
namespace graph_field {
constexpr uint32_t node = 1, name = 2, initializer = 5, input = 11, output = 12, value = 13;
}
namespace node_field {
constexpr uint32_t input = 1, output = 2, name = 3, op = 4, attribute = 5, domain = 7;
}
namespace attribute_field {
constexpr uint32_t name = 1, f = 2, i = 3, s = 4, t = 5, g = 6, floats = 7, ints = 8, strings = 9,
                   type = 20;
}
namespace tensor_field {
constexpr uint32_t dims = 1, data_type = 2, string_data = 6, name = 8, raw_data = 9,
                   external_data = 13, data_location = 14;
}

constexpr int64_t ir_version = 10;

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Elements of four or two bits lie several to a byte in a file, one to a byte here.
std::string pack(Bytes codes, ir::DType dtype) {
  const int width = ir::bit_width(dtype), each = 8 / width;
  std::string packed((codes.size() + static_cast<size_t>(each) - 1) / static_cast<size_t>(each),
                     '\0');
  for (size_t i = 0; i < codes.size(); ++i) {
    const unsigned code = std::to_integer<unsigned>(codes[i]) & ((1u << width) - 1);
    const size_t at = i / static_cast<size_t>(each);
    const unsigned shift =
        static_cast<unsigned>(i % static_cast<size_t>(each)) * static_cast<unsigned>(width);
    packed[at] = static_cast<char>(static_cast<unsigned char>(packed[at]) | (code << shift));
  }
  return packed;
}

Message tensor_message(std::string_view name, ir::DType dtype, const std::vector<int64_t>& shape) {
  Message message;
  for (int64_t extent : shape) message.integer(tensor_field::dims, extent);
  message.integer(tensor_field::data_type, ops::onnx_of_dtype(dtype));
  if (!name.empty()) message.text(tensor_field::name, name);
  return message;
}

void add_elements(Message& message, ir::DType dtype, Bytes bytes,
                  const std::vector<std::string>& strings) {
  if (dtype == ir::DType::string) {
    for (const std::string& one : strings) message.text(tensor_field::string_data, one);
  } else if (ir::is_small(dtype) && ir::bit_width(dtype) < 8 && 8 % ir::bit_width(dtype) == 0) {
    message.text(tensor_field::raw_data, pack(bytes, dtype));
  } else {
    message.text(tensor_field::raw_data, text_of(bytes));
  }
}

Message attribute_message(const std::string& name, const ops::Attribute& attribute) {
  Message message = Message().text(attribute_field::name, name);
  const auto type = [&](ProtoAttribute::Kind kind) -> Message& {
    return message.integer(attribute_field::type, kind);
  };
  if (const auto* i = std::get_if<int64_t>(&attribute)) {
    type(ProtoAttribute::integer).integer(attribute_field::i, *i);
  } else if (const auto* f = std::get_if<double>(&attribute)) {
    type(ProtoAttribute::real).real(attribute_field::f, static_cast<float>(*f));
  } else if (const auto* s = std::get_if<std::string>(&attribute)) {
    type(ProtoAttribute::text).text(attribute_field::s, *s);
  } else if (const auto* ints = std::get_if<std::vector<int64_t>>(&attribute)) {
    type(ProtoAttribute::integers);
    for (int64_t value : *ints) message.integer(attribute_field::ints, value);
  } else if (const auto* floats = std::get_if<std::vector<double>>(&attribute)) {
    type(ProtoAttribute::reals);
    for (double value : *floats) message.real(attribute_field::floats, static_cast<float>(value));
  } else if (const auto* strings = std::get_if<std::vector<std::string>>(&attribute)) {
    type(ProtoAttribute::texts);
    for (const std::string& value : *strings) message.text(attribute_field::strings, value);
  } else if (const auto* tensor = std::get_if<ops::TensorData>(&attribute)) {
    Message data = tensor_message("", tensor->dtype, tensor->shape);
    add_elements(data, tensor->dtype, tensor->bytes, tensor->strings);
    type(ProtoAttribute::tensor).add(attribute_field::t, data);
  }
  return message;
}

// TypeProto of a tensor; no shape where none is known.
Message value_message(const std::string& name, const graph::Value& value) {
  Message tensor = Message().integer(1, ops::onnx_of_dtype(value.dtype));
  if (value.shape_known) {
    Message shape;
    for (const ir::Expr& extent : value.shape) {
      Message dim;
      if (const auto number = ir::as_int(extent)) {
        dim.integer(1, *number);
      } else if (const auto* var = ir::as<ir::VarNode>(extent)) {
        dim.text(2, var->name);
      }
      shape.add(1, dim);
    }
    tensor.add(2, shape);
  }
  return Message().text(1, name).add(2, Message().add(1, tensor));
}

// What oldest_written lacks: operators, and attributes of older ones. All
// else that became newer only takes more types.
struct Newer {
  std::string_view op, attribute = {};
};
constexpr Newer newer[] = {
    {"Attention"},
    {"BitCast"},
    {"Cast", "round_mode"},
    {"CastLike", "round_mode"},
    {"CausalConvWithState"},
    {"CumProd"},
    {"DequantizeLinear", "output_dtype"},
    {"LinearAttention"},
    {"QuantizeLinear", "precision"},
    {"RMSNormalization"},
    {"Range", "stash_type"},
    {"RotaryEmbedding"},
    {"SpaceToDepth", "mode"},
    {"SwiGLU"},
    {"Swish"},
    {"TensorScatter"},
};

// Whether oldest_written has the type for every operator.
bool is_common(ir::DType dtype) { return !ir::is_small(dtype) && dtype != ir::DType::bf16; }

bool is_newer(const graph::Node& node) {
  if (const auto to = node.attributes.find("to"); to != node.attributes.end()) {
    const auto* code = std::get_if<int64_t>(&to->second);
    const auto dtype = code ? ops::dtype_of_onnx(*code) : std::nullopt;
    if (!dtype || !is_common(*dtype)) return true;
  }
  return std::ranges::any_of(newer, [&](const Newer& one) {
    return one.op == node.def->name &&
           (one.attribute.empty() || node.attributes.contains(std::string(one.attribute)));
  });
}

// Of the operators that are used: what the newest needs, and when the latest last changed.
struct Version {
  int64_t needed = 1, newest = 1;
};

class Writer {
 public:
  Writer(Bytes file, bool parts) : file_(file), parts_(parts) {}

  Result<std::string> write(const Graph& graph) {
    if (!graph.groups.empty())
      return fail(cat("port \"", graph.groups[0].name, "\" is a sequence or optional"),
                  "only models whose ports are tensors can be written");
    files_ = &graph.files;
    GS_ASSIGN(const Message body, graph_message(graph, {}));
    Message model = Message()
                        .integer(model_field::ir_version, ir_version)
                        .text(model_field::producer, "gossamer");
    domains_.insert("");
    for (const std::string& domain : domains_) {
      const int64_t version =
          domain.empty() ? std::max(newest_of(domain), oldest_written) : newest_of(domain);
      model.add(model_field::opset, Message().text(1, domain).integer(2, version));
    }
    return model.add(model_field::graph, body).bytes;
  }

 private:
  int64_t newest_of(const std::string& domain) const {
    const auto found = versions_.find(domain);
    if (found == versions_.end()) return 1;
    return common_ ? found->second.needed : found->second.newest;
  }

  // Of a value of its graph: no other value of the model is called so.
  std::string unique(const std::string& wanted, size_t id) {
    std::string name = wanted.empty() ? cat("v", id) : wanted;
    while (!used_.insert(name).second) name += cat("_", id);
    return name;
  }

  Result<Message> graph_message(const Graph& graph, const std::vector<std::string>& outer) {
    for (const graph::Value& value : graph.values) {
      if (!is_common(value.constant ? value.constant->dtype : value.dtype)) common_ = false;
    }
    std::vector<std::string> names(graph.values.size());
    for (const graph::Capture& capture : graph.captures)
      names[capture.inner] = outer[capture.outer];
    // Ports first: their names are the model's interface.
    for (const std::vector<ValueId>* ports : {&graph.inputs, &graph.outputs}) {
      for (ValueId id : *ports)
        if (names[id].empty()) names[id] = unique(graph.values[id].name, id);
    }
    for (size_t id = 0; id < names.size(); ++id)
      if (names[id].empty()) names[id] = unique(graph.values[id].name, id);
    Message message;
    for (size_t id = 0; id < graph.values.size(); ++id) {
      if (!is_number(graph.values[id])) continue;
      GS_ASSIGN(const Message one, constant_node(names[id], *graph.values[id].constant));
      message.add(graph_field::node, one);
    }
    for (const graph::Node& node : graph.nodes) {
      GS_ASSIGN(const Message one, node_message(node, names));
      message.add(graph_field::node, one);
    }
    message.text(graph_field::name, graph.name);
    for (size_t id = 0; id < graph.values.size(); ++id) {
      const graph::Value& value = graph.values[id];
      if (!value.constant || is_number(value)) continue;
      GS_ASSIGN(const Message one, initializer(names[id], *value.constant));
      message.add(graph_field::initializer, one);
    }
    for (ValueId id : graph.inputs)
      message.add(graph_field::input, port_message(names[id], graph.values[id]));
    for (ValueId id : graph.outputs)
      message.add(graph_field::output, value_message(names[id], graph.values[id]));
    for (ValueId id = 0; parts_ && id < graph.values.size(); ++id) {
      const graph::Value& value = graph.values[id];
      const bool said = value.part == graph::Part::parameter || value.part == graph::Part::fixed;
      if (value.constant && said && std::ranges::find(graph.inputs, id) == graph.inputs.end())
        message.add(graph_field::value, port_message(names[id], value));
    }
    return message;
  }

  // With what is said about an initializer.
  Message port_message(const std::string& name, const graph::Value& value) const {
    Message message = value_message(name, value);
    const bool learnt = value.part == graph::Part::parameter;
    if (parts_ && value.constant && (learnt || value.part == graph::Part::fixed))
      message.add(4, Message().text(1, kind_key).text(2, learnt ? parameter_kind : buffer_kind));
    return message;
  }

  bool is_number(const graph::Value& value) const {
    return parts_ && value.constant && value.part == graph::Part::number;
  }

  Result<Message> constant_node(const std::string& name, const ConstantSource& source) const {
    GS_ASSIGN(const Message data, initializer("", source));
    Message value = Message().text(attribute_field::name, "value");
    value.integer(attribute_field::type, ProtoAttribute::tensor).add(attribute_field::t, data);
    return Message()
        .text(node_field::output, name)
        .text(node_field::name, name)
        .text(node_field::op, "Constant")
        .add(node_field::attribute, value);
  }

  Result<Message> initializer(const std::string& name, const ConstantSource& source) const {
    Bytes bytes = source.bytes;
    if (source.file > 0) {
      Message message = tensor_message(name, source.dtype, source.shape);
      const auto entry = [&](std::string_view key, std::string_view value) {
        message.add(tensor_field::external_data, Message().text(1, key).text(2, value));
      };
      entry("location", (*files_)[static_cast<size_t>(source.file) - 1]);
      entry("offset", cat(source.offset));
      entry("length", cat(source.length));
      return message.integer(tensor_field::data_location, 1);
    }
    if (source.file == 0) {
      if (source.offset > file_.size() || source.length > file_.size() - source.offset)
        return fail_at(cat("\"", name, "\""), "its bytes lie outside the model file");
      bytes = file_.subspan(source.offset, source.length);
    }
    Message message = tensor_message(name, source.dtype, source.shape);
    if (source.packed > 1) {
      message.text(tensor_field::raw_data, text_of(bytes));
    } else {
      add_elements(message, source.dtype, bytes, source.strings);
    }
    return message;
  }

  Result<Message> node_message(const graph::Node& node, const std::vector<std::string>& names) {
    Message message;
    const auto name_of = [&](ValueId id) {
      return id == no_value ? std::string_view() : std::string_view(names[id]);
    };
    const bool names_tensors =
        graph::is_gradient(node) && node.def->domain == graph::training_domain;
    const size_t inputs = names_tensors ? node.inputs.size() / 2 : node.inputs.size();
    for (ValueId id : std::span(node.inputs).first(inputs))
      message.text(node_field::input, name_of(id));
    for (ValueId id : node.outputs) message.text(node_field::output, name_of(id));
    if (!node.name.empty()) message.text(node_field::name, node.name);
    message.text(node_field::op, node.def->name);
    if (names_tensors) add_gradient(node, names, message);
    for (const auto& [name, attribute] : node.attributes) {
      if (!names_tensors && !std::holds_alternative<std::monostate>(attribute))
        message.add(node_field::attribute, attribute_message(name, attribute));
    }
    GS_TRY(add_regions(node, names, message));
    if (!node.def->domain.empty()) message.text(node_field::domain, node.def->domain);
    Version& version = versions_[node.def->domain];
    const int64_t since = node.def->since;
    const bool older = node.def->domain.empty() && !is_newer(node);
    version.newest = std::max(version.newest, since);
    version.needed = std::max(version.needed, older ? std::min(since, oldest_written) : since);
    domains_.insert(node.def->domain);
    return message;
  }

  // ONNX's Gradient names the tensors that stand behind its inputs (lower/lower_gradient.h).
  static void add_gradient(const graph::Node& node, const std::vector<std::string>& names,
                           Message& message) {
    const size_t values = node.inputs.size() / 2;
    const auto count = static_cast<size_t>(std::get<int64_t>(node.attributes.at("count")));
    std::vector<std::string> xs, zs;
    for (size_t i = 0; i < values; ++i)
      (i < count ? xs : zs).push_back(names[node.inputs[values + i]]);
    message.add(node_field::attribute, attribute_message("xs", xs));
    if (!zs.empty()) message.add(node_field::attribute, attribute_message("zs", zs));
    message.add(node_field::attribute, attribute_message("y", names[node.inputs.back()]));
  }

  Result<> add_regions(const graph::Node& node, const std::vector<std::string>& names,
                       Message& message) {
    const auto steps = graph::region_attributes(node.def->name);
    for (size_t i = 0; i < node.regions.size(); ++i) {
      if (!node.regions[i]) continue;
      const std::string attribute(steps.empty() ? std::string_view(node.def->regions[i])
                                                : steps[i]);
      GS_ASSIGN(const Message body, graph_message(*node.regions[i], names));
      message.add(node_field::attribute, Message()
                                             .text(attribute_field::name, attribute)
                                             .integer(attribute_field::type, ProtoAttribute::graph)
                                             .add(attribute_field::g, body));
    }
    return {};
  }

  Bytes file_;
  bool parts_;
  const std::vector<std::string>* files_ = nullptr;
  std::unordered_set<std::string> used_;
  bool common_ = true;  // no type so far that is newer than oldest_written
  std::set<std::string> domains_;
  std::map<std::string, Version> versions_;  // of domains
};

}  // namespace

Result<std::string> write_model(const graph::Graph& graph, Bytes file, bool parts) {
  return Writer(file, parts).write(graph);
}

}  // namespace gossamer::onnx
