// What the reader can tell of a node's outputs before shapes are inferred: enough for upgrading old
// operators.
#pragma once

#include "onnx/upgrade.h"

namespace gossamer::onnx {

// Element type and rank of output `index` of a node in its newest form, where they follow from its
// inputs' facts.
ValueFacts guess_output(const ImportNode& node, size_t index, const UpgradeScope& scope);

}  // namespace gossamer::onnx
