// Rows that nothing reads.
#pragma once

#include "stages/stage_graph.h"

namespace gossamer::stages {

// Where all that reads a tensor reads one and the same place of an axis, that place alone is
// computed: a language model whose last logits are asked for needs the last row of what makes them.
// `windows`: so are several places that follow each other, where a stage has a point for each.
// Outputs, states and products that share their operand with products of all rows (join_products.h)
// stay whole.
void narrow_rows(StageGraph&, bool windows = false);

}  // namespace gossamer::stages
