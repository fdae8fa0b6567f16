// Builds a graph from the parsed messages: names to values, functions inlined, operators upgraded.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "onnx/proto.h"
#include "onnx/reader.h"
#include "onnx/upgrade.h"

namespace gossamer::onnx {

class Importer {
 public:
  Importer(const ProtoModel& model, Bytes bytes, const ReadOptions& options);
  Result<graph::Graph> import();

 private:
  using Opsets = std::map<std::string, int64_t, std::less<>>;

  // The values that a name can mean at one place of the model.
  struct Scope {
    Scope* parent = nullptr;  // of a region: the scope around it
    graph::Graph* graph = nullptr;
    std::map<std::string, graph::ValueId, std::less<>> values;
    std::map<std::string, ValueFacts, std::less<>> facts;
    const Opsets* opsets = nullptr;
    const ops::Attributes* call = nullptr;  // in a function: the attributes of its call
    std::string prefix;                     // of names made in a function
    int depth = 0;                          // of functions and regions
  };

  Result<> read_opsets(const std::vector<ProtoOpset>& list, Opsets& opsets) const;
  Result<> add_inputs(const ProtoGraph& proto, Scope& scope);
  Result<> add_default(const ProtoValue& input, graph::ValueId constant, Scope& scope);
  Result<> check_options(const ProtoGraph& proto) const;
  Result<> add_input(const ProtoValue& input, const std::string& name, const std::string& key,
                     Scope& scope);
  Result<> add_sequence_input(const ProtoValue& input, Scope& scope);
  Result<std::vector<ir::Expr>> input_shape(const ProtoValue& input, const std::string& name,
                                            Scope& scope);
  Result<> add_initializers(const ProtoGraph& proto, Scope& scope);
  Result<> import_graph(const ProtoGraph& proto, Scope& scope);
  Result<> import_nodes(const std::vector<ProtoNode>& nodes, Scope& scope);
  Result<> import_node(const ProtoNode& proto, Scope& scope);
  Result<> import_constant(const ProtoNode& proto, const ImportNode& node, Scope& scope);
  Result<> inline_function(const ProtoFunction& function, const ImportNode& call, Scope& scope);
  Result<> emit(ImportNode node, Scope& scope);
  Result<> import_scan_8(const ImportNode& node, Scope& scope);
  static Scope region_scope(Scope& around, graph::Graph& graph);
  Result<> import_regions(const ImportNode& node, graph::Node& made, Scope& scope);
  Result<ImportNode> convert(const ProtoNode& proto, const Scope& scope);
  Result<ops::Attribute> convert(const ProtoAttribute& attribute);
  Result<stages::ConstantSource> constant_of(const ProtoTensor& tensor);
  Result<stages::ConstantSource> constant_of(const ProtoSparse& tensor);
  Result<int64_t> opset_of(const std::string& domain, const Scope& scope) const;

  Result<> define(Scope& scope, const std::string& name, graph::ValueId id);
  graph::ValueId add_constant(Scope& scope, std::string name, stages::ConstantSource source);
  std::optional<graph::ValueId> find(Scope& scope, std::string_view name) const;
  ValueFacts facts(const Scope& scope, std::string_view name) const;
  UpgradeScope upgrade_scope(Scope& scope);

  const ProtoModel& model_;
  Bytes bytes_;
  const ReadOptions& options_;
  const ops::Catalog& catalog_;
  graph::Graph graph_;
  Opsets opsets_;
  std::map<std::string, const ProtoFunction*, std::less<>> functions_;  // "domain:name:overload"
  std::map<std::string, ir::Var, std::less<>> dims_;
  int64_t nodes_ = 0;
  uint64_t sparse_room_ = max_dense;  // see read_sparse
  int64_t fresh_ = 0;
};

}  // namespace gossamer::onnx
