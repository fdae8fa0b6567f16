// The operators whose regions are steps. They are no catalog entries: lower() runs their bodies
// itself. Entries that inline their regions name them (OpDef::regions).
#pragma once

#include <span>
#include <string_view>

#include "ops/opdef.h"

namespace gossamer::graph {

// The entry of If, Loop, Scan or SequenceMap; null for another name.
const ops::OpDef* control_flow_op(std::string_view name);
// The attributes that hold an operator's regions, in the order of Node::regions.
std::span<const std::string_view> region_attributes(std::string_view name);

}  // namespace gossamer::graph
