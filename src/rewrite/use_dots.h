// Sums of products of small integers, by instructions that sum several products at a time.
#pragma once

#include <unordered_set>

#include "rewrite/small_integers.h"
#include "stages/program.h"
#include "target/capabilities.h"

namespace gossamer::rewrite {

// Sums of products whose factors are integers of 9 bits at any point, such as bytes less their zero
// point, become sums of Dots in i32 (ir/nodes.def), after fusion and before layouts. The factor
// that all rows share is laid out in words of two terms by a stage of its own, at load where it is
// constant. The other is stored in 16 bits by the stage that makes it, or by a copy, and read in
// words. Sums are exact: what a sum in f32 would have rounded is not.
//
// `constants`: buffers that a run does not change; `known`: those of them whose elements are known.
// `kept`: buffers that keep their type, since other than the program's stages read or write them.
void use_dots(stages::Program& program, const std::unordered_set<const ir::BufferNode*>& constants,
              const KnownIntegers& known, const std::unordered_set<const ir::BufferNode*>& kept,
              const target::Capabilities& capabilities);

}  // namespace gossamer::rewrite
