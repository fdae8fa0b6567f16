// A node that has a definition, as stages.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lower/stage_builder.h"

namespace gossamer::lower {

// Runs the node's definition and appends what it makes: stages, under the names of its outputs,
// constants and checks. `output_names` has one for each output, none where nobody uses it. No
// tensor has more than `most` elements. Returns the outputs: one whose elements are all known is a
// constant, a view of its input's own shape is the input.
Result<std::vector<Item>> lower_node(ops::Builder& node,
                                     const std::vector<std::optional<std::string>>& output_names,
                                     int64_t most, StageBuilder& stages);

}  // namespace gossamer::lower
