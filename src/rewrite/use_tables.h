// Functions of a byte, which tables of all their values replace.
#pragma once

#include <unordered_set>

#include "stages/program.h"

namespace gossamer::rewrite {

// Quantised models round after each operator, so an activation is often a function of one number of
// 8 bits. Where computing that takes long, such as exp with two roundings, a stage reads it from
// a table of 256 elements that is made at load. So that more stages are such functions, a number
// that was rounded to 8 bits is stored in these, not as the float that its readers decode.
//
// `kept`: buffers that keep their type.
void use_tables(stages::Program& program, const std::unordered_set<const ir::BufferNode*>& kept);

}  // namespace gossamer::rewrite
