// How views write what is in a graph.
#pragma once

#include <map>
#include <string>

#include "graph/graph.h"
#include "records/records.h"

namespace gossamer::compiler {
struct KernelReport;
}

namespace gossamer::inspect {

std::string shape_of(const graph::Value& value);

// How often each operator occurs, also in branches and loops.
std::map<std::string, int> count_operators(const graph::Graph& graph);

// Where a kernel's point comes from; empty: it is the default one.
std::string record_of(const compiler::KernelReport& kernel);

}  // namespace gossamer::inspect
