#include "graph/control_flow.h"

#include "ops/builder.h"

namespace gossamer::graph {
namespace {

ops::OpDef entry(std::string name, std::string doc, int since) {
  ops::OpDef def;
  def.name = std::move(name);
  def.doc = std::move(doc);
  def.since = since;
  def.define = [](ops::Builder& b) -> Result<> {
    return b.error("control flow of this kind is not supported yet");
  };
  return def;
}

constexpr std::string_view branches[] = {"then_branch", "else_branch"};
constexpr std::string_view body[] = {"body"};

}  // namespace

const ops::OpDef* control_flow_op(std::string_view name) {
  static const ops::OpDef if_op = entry("If", "One of two subgraphs.", 25);
  static const ops::OpDef loop = entry("Loop", "A subgraph, repeatedly.", 25);
  static const ops::OpDef scan = entry("Scan", "A subgraph along an axis.", 25);
  static const ops::OpDef sequence_map =
      entry("SequenceMap", "A subgraph for each element of a sequence.", 17);
  if (name == "If") return &if_op;
  if (name == "Loop") return &loop;
  if (name == "Scan") return &scan;
  if (name == "SequenceMap") return &sequence_map;
  return nullptr;
}

std::span<const std::string_view> region_attributes(std::string_view name) {
  if (name == "If") return branches;
  if (name == "Loop" || name == "Scan" || name == "SequenceMap") return body;
  return {};
}

}  // namespace gossamer::graph
