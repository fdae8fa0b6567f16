#include "inspect/document.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cmath>
#include <utility>
#include <vector>

#include "graph/control_flow.h"
#include "inspect/histogram.h"
#include "inspect/words.h"
#include "ir/nodes.h"

namespace gossamer::inspect {
namespace {

using Json = rapidjson::Writer<rapidjson::StringBuffer>;
using graph::no_value;
using graph::ValueId;

constexpr size_t most_text = 40000;  // letters of a kernel's code; `--dump` writes all of it

void text(Json& json, const char* key, std::string_view value) {
  json.Key(key);
  json.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
}

void integer(Json& json, const char* key, int64_t value) {
  json.Key(key);
  json.Int64(value);
}

// JSON has neither infinities nor NaN.
void number(Json& json, double value) {
  if (std::isfinite(value)) {
    json.Double(value);
  } else {
    json.Null();
  }
}

// Numbers as such, variables by their names, operations as lists: ["*", 4, "batch"].
void write_expr(Json& json, const ir::Expr& expr) {
  if (const auto* constant = ir::as<ir::IntImm>(expr)) {
    json.Int64(constant->value);
  } else if (const auto* real = ir::as<ir::FloatImm>(expr)) {
    number(json, real->value);
  } else if (const auto* variable = ir::as<ir::VarNode>(expr)) {
    json.String(variable->name);
  } else if (const auto* unary = ir::as<ir::Unary>(expr)) {
    json.StartArray();
    json.String(std::string(ir::spelling_of(unary->op)));
    write_expr(json, unary->a);
    json.EndArray();
  } else if (const auto* binary = ir::as<ir::Binary>(expr)) {
    json.StartArray();
    json.String(std::string(ir::spelling_of(binary->op)));
    write_expr(json, binary->a);
    write_expr(json, binary->b);
    json.EndArray();
  } else if (const auto* select = ir::as<ir::Select>(expr)) {
    json.StartArray();
    json.String("?");
    write_expr(json, select->condition);
    write_expr(json, select->yes);
    write_expr(json, select->no);
    json.EndArray();
  } else if (const auto* cast = ir::as<ir::Cast>(expr)) {
    // Between integers the value stays; a float is truncated.
    const bool truncates = ir::is_float(cast->a->type.dtype) && !ir::is_float(expr->type.dtype);
    if (!truncates) return write_expr(json, cast->a);
    json.StartArray();
    json.String("trunc");
    write_expr(json, cast->a);
    json.EndArray();
  } else {
    json.Null();  // a value that only a run knows
  }
}

void write_attribute(Json& json, const ops::Attribute& attribute) {
  if (const auto* whole = std::get_if<int64_t>(&attribute)) {
    json.Int64(*whole);
  } else if (const auto* real = std::get_if<double>(&attribute)) {
    number(json, *real);
  } else if (const auto* word = std::get_if<std::string>(&attribute)) {
    json.String(*word);
  } else if (const auto* wholes = std::get_if<std::vector<int64_t>>(&attribute)) {
    json.StartArray();
    for (const int64_t one : *wholes) json.Int64(one);
    json.EndArray();
  } else if (const auto* reals = std::get_if<std::vector<double>>(&attribute)) {
    json.StartArray();
    for (const double one : *reals) number(json, one);
    json.EndArray();
  } else if (const auto* words = std::get_if<std::vector<std::string>>(&attribute)) {
    json.StartArray();
    for (const std::string& one : *words) json.String(one);
    json.EndArray();
  } else if (const auto* tensor = std::get_if<ops::TensorData>(&attribute)) {
    std::string said = cat(ir::name_of(tensor->dtype), "[");
    for (size_t axis = 0; axis < tensor->shape.size(); ++axis)
      said += cat(axis ? ", " : "", tensor->shape[axis]);
    json.String(said + "]");
  } else {
    json.Null();
  }
}

std::string region_name(const graph::Node& node, size_t at) {
  if (at < node.def->regions.size()) return node.def->regions[at];
  const auto names = graph::region_attributes(node.def->name);
  return at < names.size() ? std::string(names[at]) : cat("region ", at);
}

void write_diagnostic(Json& json, const Diagnostic& problem) {
  json.Key("problem");
  json.StartObject();
  if (!problem.where.empty()) text(json, "where", problem.where);
  text(json, "message", problem.message);
  if (!problem.hint.empty()) text(json, "hint", problem.hint);
  json.EndObject();
}

// Graphs one after the other: a region's values and nodes follow those of the graph around it. A
// value that a region captures is that of the outer graph.
class GraphWriter {
 public:
  GraphWriter(Json& json, const Examined& examined) : json_(json), examined_(examined) {
    add(examined.subject.graph, -1, "", {});
  }

  void write() {
    json_.Key("values");
    json_.StartArray();
    for (const graph::Value* value : values_) write_value(*value);
    json_.EndArray();
    json_.Key("nodes");
    json_.StartArray();
    for (const Placed& placed : nodes_) write_node(placed);
    json_.EndArray();
    const Graph& whole = graphs_.front();
    write_ids("inputs", whole.graph->inputs, whole);
    write_ids("outputs", whole.graph->outputs, whole);
  }

 private:
  struct Graph {
    const graph::Graph* graph;
    std::vector<int64_t> numbers;  // of its values
  };
  struct Placed {
    const graph::Node* node;
    size_t graph;
    int64_t parent;      // the node that has the region
    std::string region;  // its attribute
    size_t own;          // its place in its graph
  };

  void add(const graph::Graph& graph, int64_t parent, const std::string& region,
           const std::vector<int64_t>& outer) {
    Graph made{&graph, std::vector<int64_t>(graph.values.size(), -1)};
    for (const graph::Capture& capture : graph.captures)
      made.numbers[capture.inner] = outer[capture.outer];
    for (size_t id = 0; id < graph.values.size(); ++id) {
      if (made.numbers[id] >= 0) continue;
      made.numbers[id] = static_cast<int64_t>(values_.size());
      values_.push_back(&graph.values[id]);
    }
    const size_t place = graphs_.size();
    const std::vector<int64_t> numbers = made.numbers;
    graphs_.push_back(std::move(made));
    const auto first = static_cast<int64_t>(nodes_.size());
    for (size_t own = 0; own < graph.nodes.size(); ++own)
      nodes_.push_back({&graph.nodes[own], place, parent, region, own});
    for (size_t own = 0; own < graph.nodes.size(); ++own) {
      const graph::Node& node = graph.nodes[own];
      for (size_t at = 0; at < node.regions.size(); ++at) {
        if (!node.regions[at]) continue;
        add(*node.regions[at], first + static_cast<int64_t>(own), region_name(node, at), numbers);
      }
    }
  }

  void write_value(const graph::Value& value) {
    json_.StartObject();
    text(json_, "name", value.name);
    text(json_, "dtype", ir::name_of(value.dtype));
    if (value.constant) {
      json_.Key("shape");
      json_.StartArray();
      for (const int64_t extent : value.constant->shape) json_.Int64(extent);
      json_.EndArray();
      write_weight(*value.constant);
    } else if (value.shape_known) {
      json_.Key("shape");
      json_.StartArray();
      for (const ir::Expr& extent : value.shape) write_expr(json_, extent);
      json_.EndArray();
    }
    json_.EndObject();
  }

  std::span<const std::byte> bytes_of(const stages::ConstantSource& source) const {
    const Subject& subject = examined_.subject;
    if (source.file < 0) return source.bytes;
    if (source.file == 0) {
      const auto size = subject.bytes.size();
      if (source.offset > size || source.length > size - source.offset) return {};
      return subject.bytes.subspan(source.offset, source.length);
    }
    if (!subject.external) return {};
    const auto range = subject.external->range(
        subject.graph.files[static_cast<size_t>(source.file) - 1], source.offset, source.length);
    return range ? *range : std::span<const std::byte>();
  }

  void write_weight(const stages::ConstantSource& source) {
    const auto bytes = bytes_of(source);
    json_.Key("weight");
    json_.StartObject();
    integer(json_, "bytes",
            static_cast<int64_t>(source.file < 0 ? source.bytes.size() : source.length));
    if (const auto seen = histogram_of(source, bytes)) {
      integer(json_, "elements", seen->elements);
      integer(json_, "seen", seen->seen);
      integer(json_, "zeros", seen->zeros);
      integer(json_, "notFinite", seen->not_finite);
      for (const auto& [key, value] : {std::pair("least", seen->least),
                                       {"most", seen->most},
                                       {"mean", seen->mean},
                                       {"deviation", seen->deviation}}) {
        json_.Key(key);
        number(json_, value);
      }
      json_.Key("bins");
      json_.StartArray();
      for (const int64_t count : seen->bins) json_.Int64(count);
      json_.EndArray();
    }
    json_.EndObject();
  }

  void write_ids(const char* key, const std::vector<ValueId>& ids, const Graph& of) {
    json_.Key(key);
    json_.StartArray();
    for (const ValueId id : ids) {
      if (id == no_value) {
        json_.Null();
      } else {
        json_.Int64(of.numbers[id]);
      }
    }
    json_.EndArray();
  }

  void write_node(const Placed& placed) {
    const graph::Node& node = *placed.node;
    json_.StartObject();
    text(json_, "op", node.def->name);
    if (!node.def->domain.empty()) text(json_, "domain", node.def->domain);
    text(json_, "name", node.name);
    write_ids("inputs", node.inputs, graphs_[placed.graph]);
    write_ids("outputs", node.outputs, graphs_[placed.graph]);
    if (!node.attributes.empty()) {
      json_.Key("attributes");
      json_.StartObject();
      for (const auto& [name, attribute] : node.attributes) {
        json_.Key(name.c_str());
        write_attribute(json_, attribute);
      }
      json_.EndObject();
    }
    if (placed.parent >= 0) {
      integer(json_, "parent", placed.parent);
      text(json_, "region", placed.region);
    } else if (const auto& problem = examined_.problems[placed.own]) {
      write_diagnostic(json_, *problem);
    } else if (examined_.unchecked[placed.own]) {
      json_.Key("unchecked");
      json_.Bool(true);
    }
    json_.EndObject();
  }

  Json& json_;
  const Examined& examined_;
  std::vector<Graph> graphs_;
  std::vector<const graph::Value*> values_;
  std::vector<Placed> nodes_;
};

void write_kernels(Json& json, const View& view) {
  json.Key("kernels");
  json.StartArray();
  for (size_t at = 0; at < view.report.kernels.size(); ++at) {
    const compiler::KernelReport& kernel = view.report.kernels[at];
    json.StartObject();
    text(json, "origin", kernel.origin);
    // Shaders say more than the loops that they come from, and both are long.
    const bool shader = !kernel.code.empty();
    const std::string_view code = shader ? kernel.code : kernel.ir;
    text(json, shader ? "code" : "ir", code.substr(0, most_text));
    if (code.size() > most_text) integer(json, "letters", static_cast<int64_t>(code.size()));
    if (const std::string record = record_of(kernel); !record.empty()) text(json, "record", record);
    if (!kernel.key.empty()) {
      text(json, "key", kernel.key);
      text(json, "class", kernel.machine);
      json.Key("points");
      json.StartArray();
      for (const std::string& point : view.spaces[at]) json.String(point);
      json.EndArray();
    }
    json.EndObject();
  }
  json.EndArray();
}

void write_view(Json& json, const View& view) {
  json.StartObject();
  text(json, "target", view.target);
  if (!view.problem.empty()) {
    text(json, "problem", view.problem);
    text(json, "where", view.where);
    json.EndObject();
    return;
  }
  integer(json, "memoryBytes", view.report.memory_bytes);
  integer(json, "weightBytes", view.report.weight_bytes);
  integer(json, "packageBytes", static_cast<int64_t>(view.package_bytes));
  json.Key("plan");
  json.StartArray();
  for (const ir::Expr& value : view.report.plan.values) write_expr(json, value);
  json.EndArray();
  json.Key("manifest");
  json.RawValue(view.manifest.data(), view.manifest.size(), rapidjson::kObjectType);
  json.Key("layouts");
  json.StartArray();
  for (const records::SeenLayout& one : view.layouts) {
    json.StartObject();
    text(json, "name", one.name);
    text(json, "origin", one.origin);
    text(json, "of", name_of(one.rule.of));
    text(json, "choice", to_string(one.choice()));
    json.Key("recorded");
    json.Bool(one.recorded.has_value());
    json.Key("choices");
    json.StartArray();
    for (const auto choice : one.choices()) json.String(to_string(choice));
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  write_kernels(json, view);
  json.EndObject();
}

}  // namespace

std::string to_document(const Examined& examined, std::span<const View> views,
                        std::span<const std::string> profiles) {
  const Subject& subject = examined.subject;
  rapidjson::StringBuffer buffer;
  Json json(buffer);
  json.StartObject();
  text(json, "format", "gossamer-view");
  integer(json, "version", 1);
  text(json, "name", subject.graph.name);
  integer(json, "bytes", static_cast<int64_t>(subject.bytes.size()));
  json.Key("dims");
  json.StartArray();
  for (const stages::Dim& dim : subject.graph.dims) {
    if (dim.output >= 0) continue;
    json.StartObject();
    text(json, "name", dim.var->name);
    integer(json, "estimate", dim.var->estimate);
    json.EndObject();
  }
  json.EndArray();
  GraphWriter(json, examined).write();
  json.Key("targets");
  json.StartArray();
  for (const View& view : views) write_view(json, view);
  json.EndArray();
  json.Key("profiles");
  json.StartArray();
  for (const std::string& profile : profiles)
    json.RawValue(profile.data(), profile.size(), rapidjson::kObjectType);
  json.EndArray();
  json.EndObject();
  return buffer.GetString();
}

}  // namespace gossamer::inspect
