// What is known of a model's inputs before a run.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ops/opdef.h"

namespace gossamer::onnx {

// By names of the model's inputs and dimensions.
struct Known {
  // Shapes of inputs: kernels for these alone, faster and for more models. -1 leaves a dimension
  // open.
  std::map<std::string, std::vector<int64_t>, std::less<>> shapes;
  std::map<std::string, int64_t, std::less<>> dims;  // the same for dimensions by their names
  // Values of inputs, which become constants and leave the package's signature.
  std::map<std::string, ops::TensorData, std::less<>> constants;
  // Inputs with a default (an initializer of that name) that stay inputs. Without this the default
  // is a constant: most exporters list every weight as an input.
  std::set<std::string, std::less<>> kept;
  // How many elements an input that is a sequence has; -1: an optional input holds nothing.
  // Elements are inputs "NAME.0", "NAME.1", ..., also in `shapes` and `constants`.
  std::map<std::string, int64_t, std::less<>> lengths;

  // Adds what `other` knows and this does not.
  void add(const Known& other) {
    shapes.insert(other.shapes.begin(), other.shapes.end());
    dims.insert(other.dims.begin(), other.dims.end());
    kept.insert(other.kept.begin(), other.kept.end());
    constants.insert(other.constants.begin(), other.constants.end());
    lengths.insert(other.lengths.begin(), other.lengths.end());
  }
};

}  // namespace gossamer::onnx
