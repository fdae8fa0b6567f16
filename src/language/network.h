// What the configuration of a language model says of its network.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace gossamer::language {

// The base of the angles, and what a longer context divides them by.
struct Rotation {
  double base = 10000;
  std::string scaling;  // "none", "linear", "llama3", "yarn", "longrope"
  double factor = 1;
  double original = 0;         // length of the context before scaling
  double fast = 32, slow = 1;  // yarn; llama3: high_freq_factor, low_freq_factor
  double attention = 1;        // a factor of cosines and sines
  bool whole = true;           // yarn: bounds of the ramp are whole numbers
  // Divisors of each frequency: of longrope in contexts up to `original` and in longer ones. Where
  // they are empty, tensors of the file have them.
  std::vector<float> near, far;
};

struct Network {
  std::string architecture;
  int64_t layers = 0, width = 0, heads = 0, groups = 0, head = 0, hidden = 0, context = 0,
          words = 0;
  int64_t rotated = 0;         // of a head
  int64_t window = 0;          // keys that a query of a layer with a window sees
  std::vector<bool> windowed;  // which layers have a window
  double epsilon = 1e-5;
  Rotation rotation, local;  // `local`: of layers with a window, where they differ
  bool pairs = false;        // neighbours turn together, not an element of each half
  bool local_rotation = false;
  bool tied = false;           // the embedding is the head, even where the file has another
  double attention_scale = 0;  // 0: one over the root of the width of a head
  double norm_offset = 0;      // what is added to the weights of norms
};

// The architectures that write_network() knows, each once.
struct Architecture {
  std::string_view name;
  bool embedding_scaled = false, end_norms = false, gelu = false;
};
// Null: it is not known.
const Architecture* architecture(std::string_view name);
// "llama, qwen2, ... and phi3"
std::string known_architectures();

}  // namespace gossamer::language
