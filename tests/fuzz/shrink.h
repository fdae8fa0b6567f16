// Smaller graphs out of one that fails. An edit is a word, so that a list of them names a graph.
#pragma once

#include <optional>

#include "fuzz/evaluate.h"

namespace gossamer::fuzz {

// What can be tried on the graph, most promising first:
//   only:NAME      NAME is the one output, and what it does not need is gone
//   leaf:NAME      NAME, with its value, is an input instead of a node's result
//   static         every dimension is known
//   extent:A:B     every extent A of the leaves becomes B
//   constant:NAME  the input is a constant;  input:NAME the other way
std::vector<std::string> edits_of(const Recipe& recipe);
// Nothing where the edit changes nothing or the interpreter refuses the graph that it makes.
std::optional<Recipe> edited(const Recipe& recipe, const Values& values, const std::string& edit);

}  // namespace gossamer::fuzz
