// Which constants of a model are learnt when it is trained.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace gossamer::tensor {

// The elements of a constant, of which `file` is the model's bytes.
std::span<const std::byte> bytes_of(const stages::ConstantSource& source,
                                    std::span<const std::byte> file);

// Gives values of their own to what is one initializer only because its elements were equal when
// the model was exported, as PyTorch's exporter writes it:
// - the outputs of Identity nodes of an initializer that has other readers, where all its elements
//   are the same number, such as the ones and zeros that normalizations begin with
// - the mean and the variance of a batch normalization, where something else reads them, too.
// Other initializers behind Identity stay one, as tied weights are.
void part_merged(graph::Graph& graph, std::span<const std::byte> file);

// Which values are parameters (1): what the exporter says; else floats of initializers that only
// operators read that have weights there, directly or behind operators such as Identity, Transpose
// and Reshape. Constant nodes are not, and neither are small numbers that only an Add reads.
std::vector<uint8_t> find_learnt(const graph::Graph& graph, std::span<const std::byte> file);

}  // namespace gossamer::tensor
