#include "graph/gradient_op.h"

#include "ops/builder.h"

namespace gossamer::graph {
namespace {

ops::OpDef entry(std::string_view domain) {
  ops::OpDef def;
  def.name = "Gradient";
  def.domain = domain;
  def.doc = "Derivatives of a tensor by others that it is made of.";
  def.since = 1;
  def.inputs = {{"inputs", ops::any_type, ops::InputDef::variadic}};
  def.attributes = {{.name = "count", .needed = true}};
  def.define = [](ops::Builder& b) -> Result<> {
    return b.error("stands where no gradient can be taken");
  };
  return def;
}

const ops::OpDef& own() {
  static const ops::OpDef def = entry(own_domain);
  return def;
}
const ops::OpDef& of_onnx() {
  static const ops::OpDef def = entry(training_domain);
  return def;
}

}  // namespace

const ops::OpDef* gradient_op(std::string_view domain, std::string_view name) {
  if (name != "Gradient") return nullptr;
  if (domain == own_domain) return &own();
  return domain == training_domain ? &of_onnx() : nullptr;
}

bool is_gradient(const Node& node) { return node.def == &own() || node.def == &of_onnx(); }

}  // namespace gossamer::graph
