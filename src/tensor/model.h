// A model's graph to record: a module whose weights are leaves.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "tensor/recorder.h"

namespace gossamer::tensor {

// A constant of the model that is a leaf when it is recorded.
struct ModelLeaf {
  std::string name;
  graph::ValueId value = graph::no_value;
  // A parameter (learnt.h). Others are leaves because they are large.
  bool trainable = false;
};

class Model {
 public:
  // `file` is what constants with `file` 0 are ranges of. Errors: ports that are sequences or
  // strings, weights in other files, of packed types or beyond the end of `file`.
  static Result<Model> make(graph::Graph graph, std::vector<std::byte> file);

  const graph::Graph& graph() const { return graph_; }
  const std::vector<ModelLeaf>& leaves() const { return leaves_; }
  // A leaf's or another constant's elements, as ops::TensorData has them.
  std::span<const std::byte> bytes_of(graph::ValueId value) const;

  // Records it as one node (a composite); gives the outputs. One tensor an input and one a leaf, in
  // order. With shapes that are new every node is recorded once, to know what it makes. Errors:
  // another number of them, a node that does not fit its inputs (with its name).
  Result<std::vector<Id>> record(Recorder& recorder, std::span<const Id> inputs,
                                 std::span<const Id> leaves);

 private:
  Result<> check() const;
  void find_leaves();
  Result<int> operation_of(Recorder& recorder, size_t node);
  graph::Graph body() const;
  Result<std::vector<Id>> record_all(Recorder& recorder, std::span<const Id> inputs,
                                     std::span<const Id> leaves);
  Result<> record_nodes(Recorder& recorder, std::vector<Id>& values, std::vector<Id>& mine);

  graph::Graph graph_;
  std::vector<std::byte> file_;
  std::vector<ModelLeaf> leaves_;
  std::vector<int> operations_;  // of nodes, of the recorder that asked first
  int composite_ = -1;           // its own
};

}  // namespace gossamer::tensor
