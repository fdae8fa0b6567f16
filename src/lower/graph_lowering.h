// From nodes to stages: graphs, and the regions of their nodes.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "graph/graph.h"
#include "lower/stage_builder.h"
#include "ops/sequence/packed.h"

namespace gossamer::lower {

using Values = std::vector<Item>;  // of a graph, by value id

// The stages and steps of a region, taken out of those around it, and its outputs.
struct Region {
  stages::Program program;
  std::vector<Item> outputs;
  std::unordered_set<const ir::VarNode*> variables;  // that its steps set
  bool uses_own(const Expr& expr) const;
};

// What lower_if, lower_loop, lower_scan and lower_sequence_map call back for their regions.
class GraphLowering {
 public:
  // `most`: elements of a tensor. The catalog and the builder outlive this.
  GraphLowering(const ops::Catalog& catalog, int64_t most, StageBuilder& stages)
      : catalog_(catalog), most_(most), stages_(stages) {}

  StageBuilder& stages() { return stages_; }

  // The values of a graph that are constants.
  Values add_constants(const graph::Graph& graph);
  // Every node's stages in order; `values` has what the graph is given, and gets what nodes make.
  Result<> lower_nodes(const graph::Graph& graph, Values& values);
  // A node by another definition than its operator's; its outputs become values.
  Result<> lower_as(const graph::Graph& graph, const graph::Node& node, ops::Builder& builder,
                    Values& values);
  // An operator that no node of the model is, which has one output.
  Result<Item> lower_call(std::string_view op, const std::string& name, std::vector<Item> inputs,
                          ops::Attributes attributes);
  // A sequence in this form, see ops/sequence/packed.h.
  Result<Item> pack_sequence(const std::string& name, const Item& sequence,
                             const ops::SequenceForm& form);

  // `outer`: values of the graph around the region.
  Result<Region> lower_region(const graph::Graph& graph, const Values& outer,
                              const std::vector<Item>& inputs);
  // All that `lower` appends, as a region.
  Result<Region> collect_region(const std::function<Result<std::vector<Item>>()>& lower);
  // A region's stages among those around it.
  Result<std::vector<Item>> lower_inline(const graph::Graph& graph, const Values& outer,
                                         const std::vector<Item>& inputs);

 private:
  Result<> lower_defined(const graph::Graph& graph, const graph::Node& node, Values& values);
  void set_apart(const graph::Graph& graph, const graph::Node& node, Values& values,
                 graph::ValueId id);
  // Lets a definition inline the regions of its node.
  void offer_regions(const graph::Node& node, const Values& values, ops::Builder& builder);
  Result<ops::Builder::Inlined> inline_region(const graph::Graph& graph, const Values& values,
                                              const std::vector<Tensor>& inputs);

  const ops::Catalog& catalog_;
  int64_t most_;
  StageBuilder& stages_;
};

}  // namespace gossamer::lower
