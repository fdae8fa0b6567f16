// A model as a person looks at it: read although operators are unknown, with the shape of every
// tensor and all that stands against compiling it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "inspect/view.h"

namespace gossamer::inspect {

// The shape of a value is in its graph, for those of the outermost graph that could be inferred.
struct Examined {
  Subject subject;
  // What unknown operators are in the graph, which refers to it.
  std::unique_ptr<ops::Catalog> catalog;
  // By node of the outermost graph: why no target can compile it.
  std::vector<std::optional<Diagnostic>> problems;
  // Nodes of the outermost graph whose inputs depend on such a node: nothing is known about them.
  std::vector<bool> unchecked;
};

// Errors: those of onnx::read_model but for unknown operators. `external` may be null.
Result<Examined> examine(std::span<const std::byte> model, onnx::ExternalFiles* external,
                         onnx::Known known);

}  // namespace gossamer::inspect
