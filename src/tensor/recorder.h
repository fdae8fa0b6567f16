// Lazy tensors: operations are recorded as nodes, with shapes at once and nothing computed. What is
// wanted is planned as a program; programs of the same structure are one, so that a loop that
// repeats a step is compiled once. Elements are the caller's, under the tensors' ids.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "tensor/one_node.h"
#include "tensor/words.h"

namespace gossamer::tensor {

// Of a tensor; of one that nobody holds or uses any more, later of another.
using Id = uint32_t;
constexpr Id no_tensor = 0xffffffff;  // an absent optional input

struct Spec {
  ir::DType dtype = ir::DType::f32;
  std::vector<int64_t> shape;  // -1: an extent that a run decides
};

// A function of tensors whose program was planned once, or several times with other extents.
struct Traced {
  // A tensor that the function takes.
  struct Port {
    std::string name;
    Spec spec;
    int feed = -1;  // its place among the programs' feeds; -1: it is not used
  };
  // What a feed is that is no port: a weight.
  struct Feed {
    std::string name;
    bool learnt = false;
    // Its elements in each trace, or once where all have the same.
    std::vector<std::span<const std::byte>> elements = {};
  };
  // Extents of ports that are one dimension of the model.
  struct Dim {
    std::string name;
    std::vector<std::pair<size_t, size_t>> places;  // a port and an axis of it; one or more
    std::vector<int64_t> extents;                   // in each trace
  };
  std::string name;
  std::vector<int> programs;  // one a trace, not general ones
  std::vector<Port> ports;
  std::vector<Feed> feeds;  // one a feed of the programs
  std::vector<std::string> outputs;
  std::vector<Dim> dims = {};
  // Whether parameters are inputs, too, whose defaults they are: for runs that learn.
  bool opens_parameters = false;
};

class Recorder {
 public:
  // The catalog outlives this.
  explicit Recorder(const ops::Catalog& catalog = ops::builtin_catalog());

  // A tensor whose elements the caller has.
  Id leaf(ir::DType dtype, std::vector<int64_t> shape);
  // A tensor whose elements are part of programs: shapes, axes, numbers. Errors: more bytes than
  // most_constant_bytes, another number of bytes than the shape says.
  static constexpr size_t most_constant_bytes = 1 << 16;
  Result<Id> constant(const ops::TensorData& data);

  // A leaf whose elements stay what they are becomes a weight of the programs that use it, called
  // weight_name(token), instead of a feed: they can prepare it once. Tokens are the caller's, 1 or
  // more, one a leaf and none of a leaf before; 0: it is fed again.
  void freeze(Id leaf, int32_t token);
  static std::string weight_name(int32_t token) { return cat("w", token); }

  // The number of an operator ("Add", "com.microsoft::Gelu") with these attributes, to record nodes
  // of. Errors: no such operator in the catalog.
  Result<int> operation(std::string_view op, const ops::Attributes& attributes);
  // Of a node with regions (OneNode); none is like another.
  int operation(OneNode node);
  // A composite: one node when it is recorded and planned, a graph's nodes in programs. Its inputs
  // and outputs are the graph's, whose constants have bytes of their own.
  int operation(graph::Graph body);
  // A node, and so many of its outputs. Errors: inputs that do not fit the operator or one another
  // (`[MatMul]`, with their shapes), an input whose shape a run decides and none has yet. An output
  // whose elements follow from what is known, such as a shape, is a constant.
  Result<std::vector<Id>> record(int operation, std::span<const Id> inputs, size_t outputs = 1);
  // A composite's node, where learn() has told what it makes of such inputs.
  std::optional<std::vector<Id>> record_known(int composite, std::span<const Id> inputs);
  // What a composite makes of inputs like these: tensors like `outputs`.
  void learn(int composite, std::span<const Id> inputs, std::span<const Id> outputs);
  // The derivatives of the sum of y * seed (of ones without a seed) by each x, of its shape.
  // Errors: a seed of another type or shape than y, an x that is no float.
  Result<std::vector<Id>> gradient(Id y, std::span<const Id> xs, Id seed = no_tensor);

  const Spec& spec(Id id) const { return specs_[static_cast<size_t>(tensors_[id].spec)]; }
  // The same for tensors of the same type and shape.
  int spec_number(Id id) const { return tensors_[id].spec; }
  // The same for constants of the same type, shape and elements; -1 for what is no constant.
  int elements_number(Id id) const { return tensors_[id].constant; }
  const Spec& spec_at(int number) const { return specs_[static_cast<size_t>(number)]; }
  bool is_held(Id id) const { return id < tensors_.size() && tensors_[id].held; }
  // Whether a node that was recorded, and is still to be computed or has a history, reads it.
  bool is_used(Id id) const { return tensors_[id].uses > 0; }
  // Tensors that somebody holds or uses.
  size_t size() const { return tensors_.size() - free_tensors_.size(); }

  // What computes the wanted tensors: a program, whose outputs they are in order, and the leaves
  // that it is fed, in the order of its inputs.
  // `general` is another program with the same inputs and outputs whose extents are dimensions: it
  // computes this one's and others that differ in them. -1: there is none, or not yet (it takes
  // two).
  struct Plan {
    int program = 0, general = -1;
    std::vector<Id> feeds = {};
  };
  // `frozen`: whether leaves that are frozen are weights.
  Plan plan(std::span<const Id> wanted, bool frozen = true);
  // Tokens of a program's weights, each once.
  std::vector<int32_t> weights(int program) const;
  // Inputs are called i0, i1, ..., outputs o0, o1, ...; a weight lies in a file that is called as
  // it.
  graph::Graph program(int number) const;
  // A function as a model with its ports as inputs. What differs between the traces is computed
  // from its dimensions: shapes, numbers, and elements of feeds such as positions or a mask of
  // ones. Errors: what differs in another way, with the operator or the shape of the feed.
  Result<graph::Graph> traced(const Traced& given) const;
  size_t program_count() const { return programs_.size(); }

  // The caller has its elements. With `history`, gradients still go through how it was made. A
  // shape that the run decided is known from here on.
  void settle(Id id, bool history);
  void decide(Id id, std::vector<int64_t> shape);
  // How it was made is forgotten: no gradient goes through it any more. False, and nothing is,
  // while something that is still to be computed reads it: gradients that were recorded may go
  // through it.
  bool forget(Id id);
  // Nobody holds it any more; what was made of it may still use it.
  void release(Id id);
  // Leaves, or settled tensors, that nobody holds or uses since the last call: their elements may
  // go.
  std::vector<Id> take_unused();

 private:
  struct Tensor {
    int spec = 0;
    int constant = -1;
    int maker = -1;       // node
    uint32_t uses = 0;    // by nodes
    uint16_t output = 0;  // of the maker
    bool held = false;
    bool settled = false;  // the caller has its elements
    int32_t frozen = 0;    // token
    uint32_t plan = 0;     // that named it last
    int32_t name = 0;      // its number there
  };
  struct Node {
    int operation = -1;
    std::vector<Id> inputs, outputs;  // no_tensor: absent; of outputs, one that is gone
    size_t live = 0;                  // outputs that are not
  };
  struct Operation {
    OneNode node;
    int xs = -1;                            // of a gradient: how many inputs it is by
    std::optional<graph::Graph> body = {};  // of a composite
  };
  // What a node makes: a tensor of this type and shape, or a constant.
  struct Made {
    int spec = 0, constant = -1;
  };
  class Planner;
  class General;
  class Tracing;
  // Programs of one structure: the latest, and what stands for others.
  struct Skeleton {
    std::vector<int> programs = {};
    int general = -1;
  };

  int spec_of(ir::DType dtype, std::vector<int64_t> shape);
  Id add(Tensor tensor);
  std::vector<Id> add_node(int operation, std::span<const Id> inputs, std::span<const Made> made);
  int constant_number(int spec, const ops::TensorData& data);
  Words key_of(int operation, std::span<const Id> inputs, size_t outputs) const;
  Result<std::vector<Made>> infer(int operation, std::span<const Id> inputs, size_t outputs);
  Result<std::vector<Made>> define(int operation, std::span<const Id> inputs, size_t outputs);
  Result<> check_gradient(Id y, std::span<const Id> xs, Id seed) const;
  void drop_history(Id id);
  void drop_maker(Id id);
  void leave(Id id);
  int general_of(int program);
  graph::Graph general_graph(int program) const;
  size_t add_node(graph::Graph& made, std::vector<graph::ValueId>& values, const Words& words,
                  size_t at) const;
  std::vector<graph::ValueId> write_node(graph::Graph& made, size_t operation,
                                         std::vector<graph::ValueId> inputs, size_t outputs) const;
  // A node of ONNX that no operation of the program stands for: its one output.
  graph::ValueId write_node(graph::Graph& made, std::string_view op,
                            std::vector<graph::ValueId> inputs,
                            ops::Attributes attributes = {}) const;
  graph::ValueId add_weight(graph::Graph& made, int64_t weight) const;
  const Words& words_of(int program) const;
  void add_output(graph::Graph& made, graph::ValueId id, graph::Value output) const;

  const ops::Catalog& catalog_;
  std::vector<Tensor> tensors_;
  std::vector<Id> free_tensors_, unused_;
  std::vector<Node> nodes_;
  std::vector<int> free_nodes_;
  size_t histories_ = 0;  // settled tensors that have a maker
  uint32_t plans_ = 0;

  std::vector<Spec> specs_;
  std::unordered_map<Words, int, WordsHash> spec_numbers_;
  std::vector<ops::TensorData> constants_;
  std::map<std::pair<int, std::vector<std::byte>>, int> constant_numbers_;
  std::vector<Operation> operations_;
  std::map<std::string, int, std::less<>> operation_numbers_;  // by text of operator and attributes
  std::unordered_map<Words, std::vector<Made>, WordsHash> inferred_;  // by node and inputs
  std::vector<Words> programs_;                                       // empty: a general one
  std::unordered_map<Words, Plan, WordsHash> program_numbers_;
  std::unordered_map<Words, Skeleton, WordsHash> skeletons_;
  std::map<int, std::shared_ptr<const General>> generals_;
};

}  // namespace gossamer::tensor
