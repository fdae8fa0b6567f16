// What the metadata of a language model say of its network, and the network as nodes.
#pragma once

#include <string>
#include <vector>

#include "gguf/file.h"
#include "gguf/node_writer.h"

namespace gossamer::gguf {

// The base of the angles, and what a longer context divides them by.
struct Rotation {
  double base = 10000;
  std::string scaling;  // "", "linear", "yarn", "longrope"
  double factor = 1;
  double original = 0;  // length of the context before scaling
  double fast = 32, slow = 1;
  double attention = 1;  // a factor of cosines and sines
};

struct Network {
  std::string architecture;
  int64_t layers = 0, width = 0, heads = 0, groups = 0, head = 0, hidden = 0, context = 0,
          words = 0;
  int64_t rotated = 0;  // of a head
  int64_t window = 0;   // keys that a query sees; 0: all
  int64_t pattern = 0;  // of so many layers the last one sees all keys; 0: none does
  double epsilon = 1e-5;
  Rotation rotation, local;  // `local`: of layers with a window, where they differ
  bool pairs = false;        // neighbours turn together, not an element of each half
  bool local_rotation = false;
  double attention_scale = 0;  // 0: one over the root of the width of a head
};

// Errors: an architecture that is not known, values that it lacks.
Result<Network> network_of(const File& file);

// Errors: tensors that it lacks, or of another shape.
Result<> write_network(const Network& network, const File& file, NodeWriter& writer);

}  // namespace gossamer::gguf
