// From nodes to stages, as one object: lower.cc has the straight part, lower_branch.cc,
// lower_loop.cc and lower_scan.cc the operators with regions.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/stage_graph.h"
#include "ir/simplify.h"
#include "ops/builder.h"

namespace gossamer::graph {

using ir::Expr;
using ops::Item;
using ops::Tensor;

class Lowering {
 public:
  Lowering(const ops::Catalog& catalog, int64_t most) : catalog_(catalog), most_(most) {}
  Result<StageGraph> run(const Graph& graph);

 private:
  using Values = std::vector<Item>;  // of a graph, by value id
  // The program of a region, taken out of that around it, and its outputs.
  struct Region {
    ops::Program program;
    std::vector<Item> outputs;
    std::unordered_set<const ir::VarNode*> variables;  // that its steps set
    bool uses_own(const Expr& expr) const;
  };

  // Elements that steps have read, by the tensor (which the entry keeps alive).
  using Reads = std::unordered_map<const ir::BufferNode*, std::pair<ir::Buffer, std::vector<Expr>>>;
  // A state of the work to come back to.
  struct Mark {
    StageGraph out;
    std::unordered_set<std::string> origins, constant_names;
    Reads reads;
    ir::Bounds bounds;
  };
  Mark mark() const;
  void go_back(const Mark& mark);

  void add_constants(const Graph& graph, Values& values);
  Result<> add_inputs(const Graph& graph, Values& values);
  Result<> add_outputs(const Graph& graph, const Values& values);
  Result<> lower_nodes(const Graph& graph, Values& values);
  Result<> lower_control(const Node& node, Values& values);
  Result<> lower_if(const Node& node, Values& values);
  Result<> lower_loop(const Node& node, Values& values);
  // All rounds one after the other, in lower_unrolled.cc.
  Result<> unroll_loop(const Node& node, Values& values, int64_t rounds);
  Result<std::vector<Item>> lower_inline(const Graph& graph, const Values& outer,
                                         const std::vector<Item>& inputs);
  Result<Tensor> stack(const Node& node, const std::string& name, const std::vector<Tensor>& rows);
  Result<> lower_sequence_map(const Node& node, Values& values);
  Result<> lower_scan(const Node& node, Values& values);
  Result<Region> lower_region(const Graph& graph, const Values& outer,
                              const std::vector<Item>& inputs);
  // Lets a definition inline the regions of its node.
  void offer_regions(const Node& node, const Values& values, ops::Builder& builder);
  Result<ops::Builder::Inlined> inline_region(const Graph& graph, const Values& values,
                                              const std::vector<Tensor>& inputs);
  // A scalar integer or boolean: known now, or read when the model runs.
  Result<Expr> scalar_value(const Item& item, const std::string& name);
  void add_stage(ops::Stage stage, const std::string& origin);
  Tensor add_compute(const std::string& name, ir::DType dtype, std::vector<Expr> shape,
                     const std::function<Expr(const std::vector<Expr>&)>& body);
  // A tensor of the type and shape of `like` with these elements.
  Tensor add_host_tensor(const std::string& name, const ir::Buffer& like,
                         std::vector<Expr> elements);

  struct Merge;
  Result<Tensor> merge_branches(Merge& merge, const std::string& name, const Tensor& a,
                                const Tensor& b);

  struct Carried;
  // What a Loop and a Scan have in common.
  struct Repeat {
    explicit Repeat(const Node& of) : node(of) {}
    const Node& node;
    Expr rounds, condition;
    Expr wanted;                 // rounds before they were cut to what is counted; may be null
    bool has_condition = false;  // the body's first output says whether to go on
    size_t first_state = 0;      // among the body's inputs
    std::vector<Tensor> initial;
    // The body's inputs before and after its states.
    std::function<std::vector<Tensor>(const ir::Var& round)> inputs, rows;
  };
  Carried carry(const std::string& name, const Tensor& initial);
  Result<bool> settle(Carried& carried, const Tensor& next, const std::string& place);
  Tensor begin_round(Carried& carried);
  void start(const Carried& carried, ops::Program& program, const std::string& origin) const;
  void advance(std::vector<Carried>& all, const std::vector<Tensor>& next,
               const std::string& origin);
  Tensor finish(const Carried& carried);
  // The last states, then the stacked rows.
  Result<std::vector<Tensor>> repeat(const Repeat& what, const Values& values);

  Result<> check_size(const ops::Stage& stage, const std::string& place);
  Result<> check_count(const ops::Stage& stage, const std::string& place);
  Result<> take_stages(ops::Builder& builder, const Graph& graph, const Node& node);
  void settle_output(Tensor& tensor, size_t first_stage);
  Tensor known(Tensor tensor) const;
  Item known(Item item) const;
  void add_check(Expr condition, std::string message, Expr elements = {});
  Tensor add_constant(std::string name, ConstantSource source);
  std::string unique(std::unordered_set<std::string>& taken, std::string name);
  bool same_shape(const std::vector<Expr>& a, const std::vector<Expr>& b) const;

  const ops::Catalog& catalog_;
  int64_t most_;  // elements of a tensor
  ir::Bounds bounds_;
  StageGraph out_;
  std::unordered_set<std::string> origins_, constant_names_;
  std::vector<Expr> checked_;  // extents that have a check
  std::vector<Expr> counted_;  // numbers of elements that have one, in this region or before it
  Reads reads_;
};

}  // namespace gossamer::graph
