// What a function of tensors computes, traced with tensors of one or more shapes, as one model.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tensor/formula.h"
#include "tensor/planner.h"

namespace gossamer::tensor {

class Recorder::Tracing {
 public:
  static Result<graph::Graph> graph(const Recorder& recorder, const Traced& traced);

 private:
  // An input of a node: a feed, a constant, or what a node makes.
  struct Use {
    enum Kind : uint8_t { nothing, feed, constant, made };
    Kind kind = nothing;
    int64_t at = 0;     // of a feed or a node: its place; of a constant: its number
    size_t output = 0;  // of a node
  };
  struct Node {
    int64_t operation = 0;
    std::vector<Use> inputs;
    size_t outputs = 0;
  };
  struct Program {
    std::vector<Node> nodes;
    std::vector<int64_t> feeds;  // specs
    std::vector<Use> wanted;
    std::vector<int64_t> specs;  // of what is wanted
  };
  // Tensors of the traces that stand in one place: their shapes and elements.
  struct Family {
    ir::DType dtype = ir::DType::f32;
    std::vector<std::vector<int64_t>> shapes;
    std::vector<std::span<const std::byte>> elements;
  };

  Tracing(const Recorder& recorder, const Traced& traced);

  Result<> parse();
  Result<Program> parse(const Words& words) const;
  Result<> compare() const;
  Result<> compare(const Node& a, const Node& b) const;
  Result<> add_ports();
  Result<> add_feeds();
  Result<> add_nodes();
  Result<> add_outputs();
  bool is_plain_gradient(const Node& node) const;
  std::vector<graph::ValueId> gradient(const Node& node, std::vector<graph::ValueId> inputs);

  std::string name_of(int64_t operation) const;
  const Spec& spec_at(int64_t number) const {
    return recorder_.specs_[static_cast<size_t>(number)];
  }
  Result<graph::ValueId> value_of(const Use& use, size_t node, size_t input);
  Result<graph::ValueId> constant_of(size_t node, size_t input);
  std::optional<graph::ValueId> shape_like(const Family& family, bool reshapes);
  Result<graph::ValueId> elements_of(const Family& family);
  std::optional<graph::ValueId> filled(const Family& family);
  std::optional<graph::ValueId> ramp(const Family& family);
  std::optional<graph::ValueId> identity(const Family& family);

  graph::ValueId node(std::string_view op, std::vector<graph::ValueId> inputs,
                      ops::Attributes attributes = {});
  graph::ValueId number(const ops::TensorData& data);
  graph::ValueId whole(int64_t value) { return number(ops::int64s({1}, {value})); }
  graph::ValueId extent(size_t dim);                                  // [1]
  graph::ValueId write(const Formula& formula);                       // [1] of i64
  graph::ValueId write(const RealFormula& formula, ir::DType dtype);  // [1]
  std::optional<std::vector<Formula>> shape_of(const Family& family) const;
  graph::ValueId shape(const std::vector<Formula>& extents);

  const Recorder& recorder_;
  const Traced& traced_;
  Examples examples_;
  std::vector<Program> programs_;
  graph::Graph made_;
  std::vector<graph::ValueId> ports_, feeds_;
  std::vector<std::vector<graph::ValueId>> values_;  // of nodes
  std::vector<ir::Expr> symbols_;
  std::map<size_t, graph::ValueId> extents_;
};

}  // namespace gossamer::tensor
